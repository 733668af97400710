/** The queue's place as environment variables, for services that read no config: the environment's own, or else the config's. */
import type { PawlConfig } from '@pawl/harness'
import { fromEnv } from './place.ts'

export interface QueueEnv {
  readonly backend: 'redis' | 'postgres'
  readonly variables: Readonly<Record<string, string>>
}

export function queueEnv(config: PawlConfig | undefined): QueueEnv {
  const redisUrl = fromEnv('REDIS_URL') ?? (config?.queue?.backend === 'redis' ? config.queue.url : undefined)
  const asked = fromEnv('PAWL_QUEUE') ?? config?.queue?.backend ?? (redisUrl === undefined ? 'postgres' : 'redis')
  const backend = asked === 'redis' ? 'redis' : 'postgres'
  return { backend, variables: { PAWL_QUEUE: asked, ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }) } }
}
