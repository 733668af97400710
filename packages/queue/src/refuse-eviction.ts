/**
 * A Redis that evicts is refused at the start: under memory pressure it drops BullMQ's keys in halves, and runs wait for sweeps that should not
 * have to wait. Nothing is lost by it, the ledger rings again; so the one who cannot change the server may say that it is known.
 * Asked at the start only: a process that works must not die of a setting that somebody changed under it.
 */
import { PawlError } from '@pawl/core'
import { addressOf } from './address.ts'
import type { Queue } from './port.ts'

/** Throws `REDIS_MAY_EVICT`. Says through `warn` what was allowed, or could not be told. */
export async function refuseEviction(queue: Queue, { url, isAllowed, warn }: { readonly url: string; readonly isAllowed: boolean; readonly warn: (sentence: string) => void }): Promise<void> {
  if (queue.backend !== 'redis') return
  const policy = await queue.evictionPolicy()
  if (policy === 'noeviction') return
  const server = `The Redis at ${addressOf({ backend: 'redis', url })}`
  if (policy === null) {
    warn(`${server} does not say its maxmemory-policy. See by hand that it is noeviction.`)
    return
  }
  const sentence = `${server} has maxmemory-policy ${policy}: when its memory is full it drops jobs, and what belongs to them in halves`
  if (!isAllowed) {
    throw new PawlError('REDIS_MAY_EVICT', `${sentence}, and runs would stand until a sweep finds out. Nothing was started. Mend it with "redis-cli config set maxmemory-policy noeviction" (and in redis.conf, or in the settings of the service); where you cannot, PAWL_ALLOW_EVICTION=true starts all the same.`, 'crash', { policy })
  }
  warn(`${sentence}. PAWL_ALLOW_EVICTION is set, so this is known: what it drops is rung for again from the ledger, seconds later.`)
}
