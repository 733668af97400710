/** The ground the contract's suites share: a store per file, queues and subscriptions that are closed after each test. */
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { connectQueue } from './connect.ts'
import { openDoor, type Door } from './door.testsuite.ts'
import { nameQueues } from './names.ts'
import type { Channel, Doorbell, Queue, Ring, Subscription } from './port.ts'
import type { JobQueue } from './store.ts'

export interface StoreUnderTest {
  readonly backend: 'redis' | 'postgres'
  /** A store to use, and how to leave it as it was found. */
  prepare(): Promise<{ url: string; leave: (ledgerIds: readonly string[]) => Promise<void> }>
  /** Loses all that this ledger has in the store, tables included. */
  empty(url: string, ledgerId: string): Promise<void>
  /** The queue as BullMQ's own tools see it. */
  look(url: string, ledgerId: string, name: string): JobQueue
}

export const channel: Channel = { kind: 'agent', agent: 'cjs-to-esm', version: '1.0.0' }
export const soon = { timeout: 10_000, interval: 20 }
export const afterOutage = { timeout: 30_000, interval: 100 }

export interface Ground {
  /** Of the store, straight. */
  readonly at: () => string
  /** Whatever was told to `onError`, all tests of the file. */
  readonly errors: string[]
  readonly open: (options?: { at?: string; ledgerId?: string }) => { queue: Queue; ledgerId: string }
  readonly ringOf: (ledgerId: string, more?: Partial<Ring>) => Ring
  readonly bellOf: (ring: Ring) => Doorbell
  readonly collect: (queue: Queue, more?: { concurrency?: number; on?: Channel }) => Promise<{ bells: Doorbell[]; subscription: Subscription }>
  readonly look: (ledgerId: string, name?: string) => JobQueue
  readonly door: () => Promise<Door>
  readonly ended: (queue: Queue, ring: Ring) => Promise<void>
  /** Closed after the test, last first. */
  readonly closeLater: (close: () => Promise<void>) => void
}

/** Call it inside `describe`: it registers the hooks. */
export function useStore(store: StoreUnderTest): Ground {
  const closers: (() => Promise<void>)[] = []
  let url = ''
  const ledgerIds: string[] = []
  let prepared: Awaited<ReturnType<typeof store.prepare>> | undefined
  beforeAll(async () => { prepared = await store.prepare(); url = prepared.url })
  afterAll(() => prepared?.leave(ledgerIds))
  afterEach(async () => { for (const close of closers.splice(0).toReversed()) await close() })

  const errors: string[] = []
  function open(options: { at?: string; ledgerId?: string } = {}): { queue: Queue; ledgerId: string } {
    const ledgerId = options.ledgerId ?? randomUUID()
    ledgerIds.push(ledgerId)
    const queue = connectQueue({ backend: store.backend, url: options.at ?? url, ledgerId, onError: (error, where) => { errors.push(`${where}: ${error.message}`) } })
    closers.push(() => queue.close())
    return { queue, ledgerId }
  }
  const ringOf = (ledgerId: string, more: Partial<Ring> = {}): Ring =>
    ({ ledgerId, runId: randomUUID(), seq: 1, generation: 1, channel, first: false, title: 'a file', ...more })
  async function collect(queue: Queue, more: { concurrency?: number; on?: Channel } = {}): Promise<{ bells: Doorbell[]; subscription: Subscription }> {
    const bells: Doorbell[] = []
    const subscription = await queue.subscribe(more.on ?? channel, more.concurrency ?? 1, (bell) => { bells.push(bell); return Promise.resolve() })
    closers.push(() => subscription.close(1_000))
    return { bells, subscription }
  }
  function look(ledgerId: string, name = nameQueues(ledgerId).of(channel)): JobQueue {
    const looking = store.look(url, ledgerId, name)
    looking.on('error', () => undefined)
    closers.push(() => looking.close())
    return looking
  }
  async function door(): Promise<Door> {
    const opened = await openDoor(url)
    closers.push(() => opened.shut())
    return opened
  }
  const bellOf = ({ ledgerId, runId, seq, generation }: Ring): Doorbell => ({ ledgerId, runId, seq, generation })
  const ended = (queue: Queue, ring: Ring): Promise<void> => expect.poll(() => queue.stateOf([ring]), soon).toEqual(['ended'])
  return { at: () => url, errors, open, ringOf, bellOf, collect, look, door, ended, closeLater: (close) => { closers.push(close) } }
}
