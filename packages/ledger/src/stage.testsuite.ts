/**
 * What the ledger's contract tests stand on: a migrated database of their own, sessions whose transactions are held open on purpose,
 * and a look into `pg_stat_activity` that tells when somebody waits. Order comes from locks, never from sleeping.
 */
import { newId, newRunId } from '@pawl/core'
import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import { expect } from 'vitest'
import { freshDatabase } from '../../../tests/setup/fixtures.ts'
import { Ledger, type LedgerOptions } from './connect.ts'
import { flush, type Completion, type Finish, type FlushAnswer, type Intent, type ItemRef, type Turn } from './flush.ts'
import { migrateLedger } from './migrate.ts'
import type { ActionRow } from './rows.ts'
import { claimItems, type ClaimAnswer } from './verbs/claim-items.ts'
import { appendItems, openStream, sealRun, startRun, type NewRun } from './verbs/runs.ts'
import type { Holder } from './verbs/settle.ts'

type Row = Record<string, unknown>

/** One connection, so that a transaction can be left open in it. */
export interface Session {
  readonly name: string
  query<R extends Row = Row>(text: string, params?: readonly (string | number | boolean | null)[]): Promise<R[]>
}

export interface Stage {
  readonly url: string
  readonly ledger: Ledger
  session(name?: string): Session
  /** A ledger with a name of its own, to be watched or cut. */
  another(options?: Partial<LedgerOptions>): Ledger
  rows<R extends Row = Row>(text: string, params?: readonly (string | number | boolean | null)[]): Promise<R[]>
  /** The one value of a one-row, one-column question. */
  value<T>(text: string, params?: readonly (string | number | boolean | null)[]): Promise<T>
  /** Resolves when the session of that name waits for a lock. */
  waits(name: string): Promise<void>
  close(): Promise<void>
}

let names = 0
export const uniqueName = (): string => `stage-${++names}`

export async function openStage(): Promise<Stage> {
  const database = await freshDatabase()
  const { url } = database
  const ledger = new Ledger({ url, name: 'stage' })
  await migrateLedger(ledger)
  const clients: postgres.Sql[] = []
  const ledgers: Ledger[] = [ledger]
  const session = (name = uniqueName()): Session => {
    const client = postgres(url, { max: 1, fetch_types: false, onnotice: () => {}, connection: { application_name: name } })
    clients.push(client)
    return { name, query: async <R extends Row>(text: string, params: readonly (string | number | boolean | null)[] = []) => [...(await client.unsafe<R[]>(text, [...params]))] }
  }
  const watcher = session('watcher')
  return {
    url,
    ledger,
    session,
    another(options = {}) {
      const other = new Ledger({ url, name: uniqueName(), connections: 1, ...options })
      ledgers.push(other)
      return other
    },
    rows: (text, params) => watcher.query(text, params),
    async value<T>(text: string, params?: readonly (string | number | boolean | null)[]) {
      const [row] = await watcher.query(text, params)
      return Object.values(row ?? {})[0] as T
    },
    waits: (name) => until(`${name} waits for a lock`, async () =>
      (await watcher.query(`select 1 from pg_stat_activity where application_name = $1 and datname = current_database() and wait_event_type = 'Lock'`, [name])).length > 0),
    async close() {
      await Promise.all([...clients.map((client) => client.end({ timeout: 0 }).catch(() => {})), ...ledgers.map((one) => one.close())])
      await database.drop()
    },
  }
}

/** Polls until true; the deadline only ends a broken test. */
export async function until(what: string, check: () => Promise<boolean> | boolean, deadlineMs = 15_000): Promise<void> {
  const end = Date.now() + deadlineMs
  while (!(await check())) {
    if (Date.now() > end) throw new Error(`waited ${deadlineMs} ms in vain for: ${what}`)
    await pause(5)
  }
}

export function newRun(given: Partial<NewRun> = {}): NewRun {
  return {
    id: newRunId(), namespace: 'test', key: null, digest: null, agent: 'mailer', agentVersion: '1', modelVersion: null, promptVersion: null,
    schemaVersion: 1, lockDigest: null, input: '{}', labels: {}, policy: {}, createdBy: 'tester', split: false, ...given,
  }
}

/** A sealed run whose work items are 1…n. */
export async function runOf(stage: Stage, n: number, given: Partial<NewRun> = {}): Promise<string> {
  const run = newRun(given)
  await startRun(stage.ledger, run)
  const stream = await openStream(stage.ledger, run.id, 1_000)
  if (n > 0) await appendItems(stage.ledger, run.id, stream ?? 0, Array.from({ length: n }, (_, i) => ({ key: `item-${i + 1}`, payload: `{"n":${i + 1}}` })))
  expect(await sealRun(stage.ledger, run.id, stream ?? 0, 'digest')).toEqual({ outcome: 'sealed', total: n })
  return run.id
}

export interface Claimed extends Holder {
  readonly journal: readonly ActionRow[]
  readonly answer: ClaimAnswer
}

export async function claim(stage: Stage, runId: string, seq: number, by: { workerId?: string; nonce?: string; leaseMs?: number; alone?: boolean; ledger?: Ledger } = {}): Promise<Claimed> {
  const [answer] = await claimItems(by.ledger ?? stage.ledger, [{ runId, seq, generation: null }],
    { workerId: by.workerId ?? newId(), nonce: by.nonce ?? newId(), leaseMs: by.leaseMs ?? 15_000, alone: by.alone ?? false })
  if (answer?.verdict !== 'claimed' || !answer.item) throw new Error(`item ${seq} was not claimed: ${answer?.verdict}`)
  return { runId, seq, epoch: answer.item.epoch, journal: answer.journal ?? [], answer }
}

export function intentOf(key: string, given: Partial<Intent> = {}): Intent {
  return {
    key, token: newId(), tool: 'sendMail', toolVersion: '1', effect: 'non-idempotent', args: '{"to":"a"}', argsDigest: 'd1', undo: null, undoes: null,
    timeoutMs: 30_000, settleMs: 30_000, keyWindowMs: null, ...given,
  }
}

export function completionOf(intent: { key: string; token: string }, given: Partial<Completion> = {}): Completion {
  return { key: intent.key, token: intent.token, outcome: 'committed', result: '"ok"', error: null, undo: null, ...given }
}

export function turnOf(n: number, given: Partial<Turn> = {}): Turn {
  return { n, modelVersion: 'm', promptVersion: 'p', decision: `"turn ${n}"`, inputTokens: 10, outputTokens: 5, costMicros: 7, spentTokens: 15 * n, spentMicros: 7 * n, ...given }
}

export interface Wish {
  completions?: readonly Completion[]
  turns?: readonly Turn[]
  intents?: readonly Intent[]
  records?: readonly { name: string; value: string }[]
  finish?: Finish
}

/** One flush for one item. */
export const flushOne = (ledger: Ledger, by: Holder, wish: Wish): Promise<FlushAnswer> => flush(ledger, [wantFrom(by, wish)], 15_000)

export const wantFrom = (by: Holder, wish: Wish) =>
  ({ item: { runId: by.runId, seq: by.seq }, epoch: by.epoch, completions: wish.completions ?? [], turns: wish.turns ?? [], intents: wish.intents ?? [], records: wish.records ?? [], finish: wish.finish })

/** A durable intent of the holder's, started. */
export async function started(stage: Stage, by: Holder, key: string, given: Partial<Intent> = {}): Promise<Intent> {
  const intent = intentOf(key, given)
  const answer = await flushOne(stage.ledger, by, { intents: [intent] })
  if (!answer.intended.has(intent.token)) throw new Error(`the intent ${key} was not written`)
  return intent
}

export async function committed(stage: Stage, by: Holder, key: string, given: Partial<Intent> = {}): Promise<Intent> {
  const intent = await started(stage, by, key, given)
  await flushOne(stage.ledger, by, { completions: [completionOf(intent)] })
  return intent
}

export const finishOne = (stage: Stage, by: Holder, status: Finish['status'] = 'done', given: Partial<Finish> = {}): Promise<FlushAnswer> =>
  flushOne(stage.ledger, by, { finish: { status, ...given } })

export async function itemNow(stage: Stage, item: ItemRef): Promise<{ status: string; epoch: number; blocked_reason: string | null; lease_until: Date | null; failures: number; attempts: number; barren_attempts: number; generation: number; dispatched_at: Date | null; result: string | null; error: string | null }> {
  const [row] = await stage.rows('select * from pawl.items where run_id = $1 and seq = $2', [item.runId, item.seq])
  return row as Awaited<ReturnType<typeof itemNow>>
}

export async function actionNow(stage: Stage, runId: string, key: string): Promise<ActionRow> {
  const [row] = await stage.rows<{ action: ActionRow }>('select row_to_json(a.*) as action from pawl.actions a where run_id = $1 and key = $2', [runId, key])
  if (!row) throw new Error(`no action ${key}`)
  return row.action
}

/** Its lease is over, by the primary's own clock. */
export async function endLease(stage: Stage, item: ItemRef): Promise<void> {
  await stage.rows(`update pawl.items set lease_until = clock_timestamp() - interval '1 second' where run_id = $1 and seq = $2`, [item.runId, item.seq])
}
