/** The worker's door to the environment; every variable is in `.env.example`. Flags of the command line come in as overrides. */
import { PawlError } from '@pawl/core'
import { z } from 'zod'
import { failpointPlan } from './failpoint-plan.ts'

const count = (most: number) => z.coerce.number().int().min(1).max(most)

const schema = z.object({
  DATABASE_URL: z.string().regex(/^postgres(ql)?:\/\//, 'must begin with postgres://').optional(),
  REDIS_URL: z.string().regex(/^rediss?:\/\//, 'must begin with redis://').optional(),
  PAWL_QUEUE: z.enum(['redis', 'postgres']).optional(),
  PAWL_CONFIG: z.string().optional(),
  PAWL_CONCURRENCY: count(1_000).default(10),
  PAWL_PROCESSES: count(64).default(1),
  PAWL_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** The Redis may evict, and whoever runs this knows it. */
  PAWL_ALLOW_EVICTION: z.stringbool({ truthy: ['true', '1', 'yes', 'on'], falsy: ['false', '0', 'no', 'off'] }).default(false),
  PAWL_HOST: z.string().default('127.0.0.1'),
  PAWL_METRICS_TOKEN: z.string().min(16, 'must be 16 characters or more').optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' }).optional(),
  PAWL_WORKER_PORT: z.coerce.number().int().min(0).max(65_535).optional(),
  PAWL_WORKER_ID: z.uuid().optional(),
  PAWL_WORKER_NAME: z.string().optional(),
  /** Scaled durations for demos and tests, as JSON of `Timings`. */
  PAWL_TIMINGS: z.string().optional(),
  PAWL_FAILPOINTS: failpointPlan.optional(),
  /** A folder that remembers over restarts which failpoints have struck. */
  PAWL_FAILPOINTS_SPENT: z.string().optional(),
  NODE_ENV: z.string().optional(),
})

export type WorkerEnv = z.infer<typeof schema>

/** Throws `BAD_ENVIRONMENT`, naming the variable and what it should be, never its value; `FAILPOINTS_IN_PRODUCTION` where a process would crash on purpose. */
export function readWorkerEnv(env: NodeJS.ProcessEnv): WorkerEnv {
  const parsed = schema.safeParse(Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')))
  if (parsed.success) {
    if (parsed.data.PAWL_FAILPOINTS !== undefined && parsed.data.NODE_ENV === 'production') {
      throw new PawlError('FAILPOINTS_IN_PRODUCTION', 'PAWL_FAILPOINTS is set, which makes worker processes crash on purpose, and NODE_ENV is production. Unset PAWL_FAILPOINTS, or run this elsewhere.', 'crash')
    }
    return parsed.data
  }
  const issue = parsed.error.issues[0]
  throw new PawlError('BAD_ENVIRONMENT', `${issue?.path.join('.') ?? 'the environment'} ${issue?.message ?? 'is wrong'}. See .env.example.`, 'crash')
}
