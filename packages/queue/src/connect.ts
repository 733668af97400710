/** `connectQueue`: the port over BullMQ, with a deadline on every call. Nothing connects twice, nothing waits for ever. */
import { jobId, limits, PawlError } from '@pawl/core'
import { addressOf } from './address.ts'
import { jobOf } from './doorbell.ts'
import { settleWithin, throttleErrors, unreachable, withDeadline } from './failures.ts'
import { channelOf, nameQueues } from './names.ts'
import { openPostgres } from './postgres-store.ts'
import type { Channel, JobState, Queue, QueueName, QueueOptions, Subscription } from './port.ts'
import { openRedis } from './redis-store.ts'
import { showOnBoard } from './run-board.ts'
import { startSubscription } from './subscription.ts'

const readyMs = 9_500
const callMs = 4_500
const askAgainMs = 250
/** BullMQ keeps its own keys beside the jobs' (`marker`, `wait`, `id`, …): a job id must be none of them. */
const markerJob = 'not-emptied'
const most = limits.dispatchWindow

/** Per queue, the members that go there, in order, in portions one command can carry. */
function byQueue<T extends { readonly channel: Channel }>(all: readonly T[], nameOf: (channel: Channel) => string): { name: string; part: T[] }[] {
  const groups = new Map<string, T[]>()
  for (const each of all) {
    const name = nameOf(each.channel)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [each])
    else group.push(each)
  }
  return [...groups].flatMap(([name, group]) =>
    Array.from({ length: Math.ceil(group.length / most) }, (_, i) => ({ name, part: group.slice(i * most, (i + 1) * most) })))
}

const stateFor = (state: string): JobState => (state === 'unknown' ? 'missing' : state === 'completed' || state === 'failed' ? 'ended' : 'live')

/** Opens the queue of one ledger. Throws at once on a bad URL or ledger id; a server that is down is no error until something is asked of it. */
export function connectQueue(options: QueueOptions): Queue {
  const { backend, url, ledgerId } = options
  const address = addressOf(options)
  const names = nameQueues(ledgerId)
  const onError = throttleErrors(options.onError)
  const store = backend === 'redis' ? openRedis(url, names.prefix, onError) : openPostgres(url, onError)
  const subscriptions = new Set<Subscription>()
  let closed: Promise<void> | undefined

  async function call<T>(what: string, deadlineMs: number, work: () => Promise<T>): Promise<T> {
    if (closed !== undefined) throw new PawlError('QUEUE_CLOSED', `The queue was closed before ${what}. Connect a new one.`)
    const tryTwice = async (): Promise<T> => {
      try {
        return await work()
      } catch (error) {
        if (!store.isEmptied(error)) throw error
        store.discard()
        return await work()
      }
    }
    try {
      return await withDeadline(tryTwice(), deadlineMs)
    } catch (error) {
      store.discard()
      throw unreachable(backend, address, what, error)
    }
  }

  async function ready(): Promise<void> {
    const until = performance.now() + readyMs
    for (;;) {
      try {
        await call('waiting for it to be ready', until - performance.now(), () => store.answer())
        return
      } catch (error) {
        if (performance.now() + askAgainMs > until || closed !== undefined) throw error
        await new Promise((resolve) => { setTimeout(resolve, askAgainMs) })
      }
    }
  }

  async function listNames(): Promise<QueueName[]> {
    const found = await call('listing its queues', callMs, () => store.names(names.start))
    return found.filter((name) => name !== names.marker).map((name) => ({ name, channel: channelOf(name, names) }))
  }

  return {
    backend,
    ready,
    evictionPolicy: () => call('asking what it evicts', callMs, () => store.evictionPolicy()),
    async ring(rings) {
      if (rings.length === 0) return
      const parts = byQueue(rings, (channel) => names.of(channel))
      await call(`ringing for ${rings.length} item(s)`, callMs, async () => {
        await Promise.all(parts.map(({ name, part }) => store.queue(name).addBulk(part.map(jobOf))))
        await store.remember(parts.map(({ name }) => name))
      })
    },
    async stateOf(rings) {
      const asked = rings.map((ring) => ({ name: names.of(ring.channel), id: jobId(ring.runId, ring.seq, ring.generation) }))
      return await call(`asking for ${rings.length} job(s)`, callMs, () =>
        Promise.all(asked.map(async ({ name, id }) => stateFor(await store.queue(name).getJobState(id)))))
    },
    subscribe(channel, concurrency, handler) {
      if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
        return Promise.reject(new PawlError('BAD_CONCURRENCY', `A subscription cannot run ${concurrency} handlers at once. Pass a whole number from 1.`))
      }
      if (closed !== undefined) return Promise.reject(new PawlError('QUEUE_CLOSED', 'The queue was closed. Connect a new one to subscribe.'))
      const inner = startSubscription({ store, name: names.of(channel), ledgerId, concurrency, handler, onError })
      const subscription: Subscription = {
        pause: () => { inner.pause() },
        async close(graceMs) {
          await inner.close(graceMs)
          subscriptions.delete(subscription)
        },
      }
      subscriptions.add(subscription)
      return Promise.resolve(subscription)
    },
    async checkMarker() {
      return await call('looking for its marker', callMs, async () => {
        const queue = store.queue(names.marker)
        if ((await queue.getJobState(markerJob)) !== 'unknown') return true
        await queue.add('marks that this store was not emptied', {}, { jobId: markerJob })
        return false
      })
    },
    async showRun(runId, title, progress, isEnded) {
      try {
        await call(`showing run ${runId}`, callMs, async () => {
          await showOnBoard(store, names.runs, { ledgerId, runId, title, progress, isEnded })
          await store.remember([names.runs])
        })
      } catch (error) {
        onError(error, names.runs)
      }
    },
    names: listNames,
    async count() {
      const found = await listNames()
      return await call('counting its jobs', callMs, () => Promise.all(found.map(async (each) => {
        const { waiting = 0, prioritized = 0, active = 0, delayed = 0, failed = 0 } = await store.queue(each.name).getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed')
        return { ...each, waiting: waiting + prioritized, active, delayed, failed }
      })))
    },
    boardQueue(name) {
      if (closed !== undefined) throw new PawlError('QUEUE_CLOSED', 'The queue was closed. Connect a new one for the board.')
      if (name.startsWith(names.start) && name !== names.marker) return store.queue(name)
      throw new PawlError('BAD_QUEUE_NAME', `"${name.slice(0, 80)}" is no queue of this ledger: its queues begin with ${names.start}. Take one that names() lists.`)
    },
    close() {
      closed ??= (async () => {
        await Promise.all([...subscriptions].map((subscription) => subscription.close(0)))
        await settleWithin(store.close(), 3_000)
      })()
      return closed
    },
  }
}
