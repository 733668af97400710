/** The queue's store. It is never evidence of anything, but a Redis that evicts or forgets costs sweeps, and one that is down stops the fleet. */
import { createClient } from '@pawl/client'
import type { Ledger } from '@pawl/ledger'
import { connectQueue, type Queue } from '@pawl/queue'
import type { PawlConfig } from '@pawl/harness'
import { Redis } from 'ioredis'
import { plain } from '../cli/plain.ts'
import { queueEnv } from '../cli/queue-env.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

export async function checkQueue(ledger: Ledger, databaseUrl: string, ledgerId: string, config: PawlConfig | undefined): Promise<Finding[]> {
  const { backend, variables: { REDIS_URL: redisUrl } } = queueEnv(config)
  if (backend !== 'redis') return await answers(ledger, { backend: 'postgres', url: (config?.queue?.backend === 'postgres' ? config.queue.url : undefined) ?? databaseUrl, ledgerId })
  if (redisUrl === undefined) return [fail('queue', 'the queue is redis, but REDIS_URL is not set', 'Set REDIS_URL, or PAWL_QUEUE=postgres.')]
  const answered = await answers(ledger, { backend: 'redis', url: redisUrl, ledgerId })
  return answered.some((finding) => finding.level === 'fail') ? answered : [...answered, ...(await checkRedis(redisUrl))]
}

async function answers(ledger: Ledger, place: { readonly backend: 'redis' | 'postgres'; readonly url: string; readonly ledgerId: string }): Promise<Finding[]> {
  try {
    const queue = connectQueue({ ...place, onError: () => undefined })
    try {
      await queue.ready()
      return [ok('queue', `the queue's ${place.backend} answers`), await checkDrift(ledger, queue)]
    } finally {
      await queue.close()
    }
  } catch (error) {
    return [fail('queue', error instanceof Error ? error.message : String(error), place.backend === 'redis' ? 'Start Redis, or correct REDIS_URL. Runs are accepted meanwhile and nothing is lost.' : 'Start it, or correct the address.')]
  }
}

/** What the ledger rang for against what is on the queue. Off by more than what is just under way, it heals by itself, or shows that somebody empties or feeds the queue. */
async function checkDrift(ledger: Ledger, queue: Queue): Promise<Finding> {
  const client = createClient({ ledger, queues: async () => (await queue.count()).map(({ channel, ...counts }) => ({
    ...counts, agent: channel?.kind === 'agent' ? channel.agent : null, version: channel?.kind === 'agent' ? channel.version : null,
  })) })
  const { drift } = await client.fleet()
  if (drift.queue === null) return warn('drift', 'the queue does not count its jobs', 'Ask again. If it stays so, look at its server.')
  if (drift.queue.length === 0) return ok('drift', 'the queue has the jobs the ledger rang for')
  return warn('drift', drift.queue.map((each) => `of ${plain(each.agent)}@${plain(each.version)} the ledger rang for ${each.rung.toLocaleString('en')} items and the queue has ${each.onQueue.toLocaleString('en')} jobs`).join('; '),
    'The sweep rings again within half a minute; ask again then. If it stays so, see that a worker sweeps and that nobody else empties or feeds this queue.')
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
