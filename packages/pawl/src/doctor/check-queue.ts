/** The queue's store. It is never evidence of anything, but a Redis that evicts or forgets costs sweeps, and one that is down stops the fleet. */
import { connectQueue } from '@pawl/queue'
import type { PawlConfig } from '@pawl/harness'
import { Redis } from 'ioredis'
import { queueEnv } from '../cli/queue-env.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

export async function checkQueue(databaseUrl: string, ledgerId: string, config: PawlConfig | undefined): Promise<Finding[]> {
  const { backend, variables: { REDIS_URL: redisUrl } } = queueEnv(config)
  if (backend !== 'redis') return [await answers('postgres', (config?.queue?.backend === 'postgres' ? config.queue.url : undefined) ?? databaseUrl, ledgerId)]
  if (redisUrl === undefined) return [fail('queue', 'the queue is redis, but REDIS_URL is not set', 'Set REDIS_URL, or PAWL_QUEUE=postgres.')]
  const answer = await answers('redis', redisUrl, ledgerId)
  return answer.level === 'fail' ? [answer] : [answer, ...(await checkRedis(redisUrl))]
}

async function answers(backend: 'redis' | 'postgres', url: string, ledgerId: string): Promise<Finding> {
  try {
    const queue = connectQueue({ backend, url, ledgerId, onError: () => undefined })
    try {
      await queue.ready()
      return ok('queue', `the queue's ${backend} answers`)
    } finally {
      await queue.close()
    }
  } catch (error) {
    return fail('queue', error instanceof Error ? error.message : String(error), backend === 'redis' ? 'Start Redis, or correct REDIS_URL. Runs are accepted meanwhile and nothing is lost.' : 'Start it, or correct the address.')
  }
}

/** From INFO, which managed services allow where CONFIG is forbidden. */
async function checkRedis(url: string): Promise<Finding[]> {
  const redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 1, commandTimeout: 5_000, retryStrategy: () => null })
  redis.on('error', () => undefined)
  try {
    const facts = new Map((await redis.info()).split('\r\n').flatMap((line) => {
      const at = line.indexOf(':')
      return at < 1 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const]
    }))
    const policy = facts.get('maxmemory_policy') ?? 'unknown'
    const keeps = facts.get('aof_enabled') === '1'
    return [
      checkVersion(facts.get('redis_version')),
      policy === 'noeviction'
        ? ok('redis-eviction', 'maxmemory-policy is noeviction')
        : fail('redis-eviction', `maxmemory-policy is ${policy}: under memory pressure Redis drops jobs, and BullMQ's keys in halves`, 'redis-cli config set maxmemory-policy noeviction (and in redis.conf). Workers and producer do not start on it unless PAWL_ALLOW_EVICTION=true.'),
      keeps
        ? ok('redis-persistence', 'appendonly is on')
        : warn('redis-persistence', 'appendonly is off: after a restart of Redis the queue is rung anew from the ledger, which takes seconds', 'redis-cli config set appendonly yes (and in redis.conf)'),
    ]
  } catch (error) {
    return [warn('redis-eviction', `Redis does not tell its settings (${error instanceof Error ? error.message : String(error)})`, 'See by hand that maxmemory-policy is noeviction.')]
  } finally {
    redis.disconnect()
  }
}

/** What the queue's scripts need, and what they are made for. Others that speak Redis say a version, too. */
const [oldest, wanted] = [[5, 0], [6, 2]] as const

function checkVersion(version: string | undefined): Finding {
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number)
  const isFrom = ([a, b]: readonly [number, number]): boolean => major > a || (major === a && minor >= b)
  if (version === undefined) return warn('redis-version', 'Redis does not tell its version', 'See by hand that it is 6.2 or newer.')
  if (!isFrom(oldest)) return fail('redis-version', `Redis ${version} is too old for the queue`, 'Install 6.2 or newer.')
  return isFrom(wanted) ? ok('redis-version', `Redis ${version}`) : warn('redis-version', `Redis ${version} works, and the queue is made for 6.2 and newer`, 'Install 6.2 or newer.')
}
