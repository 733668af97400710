/** The dashboard's door to the environment; every variable is in `.env.example`. */
import { PawlError } from '@pawl/core'
import { z } from 'zod'
import { parseUsers } from './auth/users.ts'

const schema = z.object({
  DATABASE_URL: z.string().regex(/^postgres(ql)?:\/\//, 'must begin with postgres://').optional(),
  REDIS_URL: z.string().regex(/^rediss?:\/\//, 'must begin with redis://').optional(),
  PAWL_QUEUE: z.enum(['redis', 'postgres']).optional(),
  PAWL_HOST: z.string().default('127.0.0.1'),
  PAWL_PORT: z.coerce.number().int().min(0).max(65_535).default(3_001),
  PAWL_PRODUCER_URL: z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' }).default('http://127.0.0.1:3000'),
  PAWL_PRODUCER_TOKEN: z.string().optional(),
  PAWL_DASHBOARD_USERS: z.string().default('').transform((text) => parseUsers(text)),
  PAWL_SESSION_SECRET: z.string().min(32, 'must be 32 characters or more (openssl rand -hex 32)').optional(),
  PAWL_DASHBOARD_URL: z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' }).optional(),
  PAWL_METRICS_TOKEN: z.string().min(16, 'must be 16 characters or more').optional(),
  PAWL_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
})

export type DashboardEnv = z.infer<typeof schema>

const loopback = new Set(['127.0.0.1', 'localhost', '::1', '[::1]'])
export const isLoopback = (host: string): boolean => loopback.has(host)

/**
 * Throws `BAD_ENVIRONMENT` naming the variable and what it should be, never its value; `USERS_NEEDED` where it would listen to
 * everybody; `SECRET_NEEDED` where logins would end with every restart.
 */
export function readDashboardEnv(env: NodeJS.ProcessEnv): DashboardEnv {
  const parsed = schema.safeParse(Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')))
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new PawlError('BAD_ENVIRONMENT', `${issue?.path.join('.') ?? 'The environment'} ${issue?.message ?? 'is wrong'}. See .env.example.`, 'crash')
  }
  const { PAWL_HOST: host, PAWL_DASHBOARD_USERS: users, PAWL_SESSION_SECRET: secret } = parsed.data
  if (!isLoopback(host) && users.length === 0) {
    throw new PawlError('USERS_NEEDED', `PAWL_HOST is ${host}, which others can reach, but PAWL_DASHBOARD_USERS is not set, so nobody could log in. Set it, or listen on 127.0.0.1.`, 'crash')
  }
  if (users.length > 0 && secret === undefined) {
    throw new PawlError('SECRET_NEEDED', 'PAWL_DASHBOARD_USERS is set, but PAWL_SESSION_SECRET, which signs their sessions, is not. Set it (openssl rand -hex 32).', 'crash')
  }
  return parsed.data
}
