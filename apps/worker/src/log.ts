import { logOptions } from '@pawl/core'
import type { Log } from '@pawl/harness'
import pino, { type Logger } from 'pino'
import type { WorkerEnv } from './env.ts'

/** JSON lines on stderr, so that stdout stays a command's own. */
export const makeLogger = (env: WorkerEnv, name: string): Logger => pino(logOptions({ level: env.PAWL_LOG_LEVEL, name }), pino.destination(2))

export const harnessLog = (log: Logger): Log => (level, line, place) => log[level](place, line)
