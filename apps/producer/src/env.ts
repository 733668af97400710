/** The producer's door to the environment; every variable is in `.env.example`. */
import { PawlError } from '@pawl/core'
import { z } from 'zod'
import { parseTokens } from './tokens.ts'

const words: Readonly<Record<string, boolean>> = { true: true, '1': true, yes: true, on: true, false: false, '0': false, no: false, off: false }

/** "false" is false: coercion would make every non-empty text true. */
const flag = z.string().transform((text, context) => {
  const found = words[text.toLowerCase()]
  if (found !== undefined) return found
  context.addIssue({ code: 'custom', message: 'must be true, 1, yes, on, false, 0, no or off' })
  return z.NEVER
})

const schema = z.object({
  DATABASE_URL: z.string().regex(/^postgres(ql)?:\/\//, 'must begin with postgres://').optional(),
  REDIS_URL: z.string().regex(/^rediss?:\/\//, 'must begin with redis://').optional(),
  PAWL_QUEUE: z.enum(['redis', 'postgres']).optional(),
  PAWL_CONFIG: z.string().optional(),
  PAWL_HOST: z.string().default('127.0.0.1'),
  PAWL_PORT: z.coerce.number().int().min(0).max(65_535).default(3_000),
  PAWL_TOKENS: z.string().transform((text) => parseTokens(text)).default([]),
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' }).optional(),
  /** Bring the ledger's schema up to date at start. */
  PAWL_MIGRATE: flag.default(false),
  /** The Redis may evict, and whoever runs this knows it. */
  PAWL_ALLOW_EVICTION: flag.default(false),
  PAWL_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
})

export type ProducerEnv = z.infer<typeof schema>

const loopback = new Set(['127.0.0.1', 'localhost', '::1', '[::1]'])
export const isLoopback = (host: string): boolean => loopback.has(host)

/** Throws `BAD_ENVIRONMENT` naming the variable and what it should be, never its value; `TOKENS_NEEDED` where it would listen to everybody. */
export function readProducerEnv(env: NodeJS.ProcessEnv): ProducerEnv {
  const parsed = schema.safeParse(Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')))
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new PawlError('BAD_ENVIRONMENT', `${issue?.path.join('.') ?? 'The environment'} ${issue?.message ?? 'is wrong'}. See .env.example.`, 'crash')
  }
  const { PAWL_HOST: host, PAWL_TOKENS: tokens } = parsed.data
  if (!isLoopback(host) && tokens.length === 0) {
    throw new PawlError('TOKENS_NEEDED', `PAWL_HOST is ${host}, which others can reach, but PAWL_TOKENS is not set, so anybody could start and cancel runs. Set PAWL_TOKENS, or listen on 127.0.0.1.`, 'crash')
  }
  return parsed.data
}
