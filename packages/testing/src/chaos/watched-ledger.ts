/**
 * The workers' door to Postgres, watched: what the ledger answered is counted, and now and then an answer is lost after the statement has run.
 * A verb that may be written again is written again, as after a broken connection; a flush hears of the broken connection.
 */
import { Ledger, type LedgerOptions } from '@pawl/ledger'
import type { Chance } from './chance.ts'
import type { Observer } from './observer.ts'
import type { Tally } from './tally.ts'

type QueryArguments = Parameters<Ledger['query']>
type Row = Record<string, unknown>
type Statement = 'flush' | 'readPlace' | 'claim' | 'rearm' | 'freeLeases' | 'takeDue' | 'other'

const marks: readonly (readonly [Statement, string])[] = [
  ['flush', 'with want as materialized'], ['readPlace', 'select i.run_id as run, i.seq, w.epoch as want'], ['claim', 'pawl.claim_items('],
  ['rearm', 'pawl.rearm_action('], ['freeLeases', 'pawl.free_leases('], ['takeDue', 'pawl.take_due_items('],
]
const kinds = new Map<string, Statement>()
function kindOf(text: string): Statement {
  let kind = kinds.get(text)
  if (kind === undefined) kinds.set(text, kind = marks.find(([, mark]) => text.includes(mark))?.[0] ?? 'other')
  return kind
}

export interface WatchOptions {
  readonly chance: Chance
  readonly observer: Observer
  readonly tally: Tally
  /** How likely an answer is lost. 0 once the run is to become quiet. */
  readonly lostShare: () => number
}

export class WatchedLedger extends Ledger {
  readonly #lostTokens = new Map<string, 'lostAckIntent' | 'lostAckCompletion'>()
  #statements = 0

  constructor(options: LedgerOptions, private readonly watch: WatchOptions) {
    super(options)
  }

  override async query<R extends Row = Row>(...[text, params = [], options = {}]: QueryArguments): Promise<R[]> {
    const kind = kindOf(text)
    const rows = await super.query<R>(text, params, options)
    this.#see(kind, params, rows)
    const mayBeRepeated = (options.retryForMs ?? 0) > 0
    if ((kind === 'flush' || mayBeRepeated) && this.watch.chance.happens(this.watch.lostShare(), 'ack', ++this.#statements)) {
      this.watch.tally.fault('lostAck')
      if (kind === 'flush') {
        this.#remember(params, rows)
        throw Object.assign(new Error('chaos: the acknowledgement was lost'), { code: 'CONNECTION_CLOSED' })
      }
      const again = await super.query<R>(text, params, options)
      this.#see(kind, params, again)
      return again
    }
    return rows
  }

  #see(kind: Statement, params: readonly unknown[], rows: readonly Row[]): void {
    const { tally, observer } = this.watch
    switch (kind) {
      case 'flush': {
        const completions = String(params[1])
        for (let at = completions.indexOf('"outcome":"unsent"'); at >= 0; at = completions.indexOf('"outcome":"unsent"', at + 1)) tally.count('sendWindowAborts')
        return
      }
      case 'readPlace': return this.#seePlaces(rows)
      case 'claim':
        for (const row of rows) {
          const item = row['item'] as { seq: number; epoch: number; kind: string; barren_attempts: number } | null
          if (row['verdict'] !== 'claimed' || item === null) continue
          observer.claimed({ runId: String(row['run_id']), seq: item.seq, epoch: item.epoch, kind: item.kind, barren: item.barren_attempts, workerId: String(params[3]) })
        }
        return
      case 'rearm':
        this.#seeRearm(rows[0])
        return
      case 'freeLeases':
        for (const row of rows) tally.count('takeovers', Number(row['freed']))
        return
      case 'takeDue': {
        const taken = (rows[0]?.['taken'] ?? []) as { generation: number; again: boolean }[]
        tally.count('redispatches', taken.filter((item) => item.again && item.generation > 1).length)
        return
      }
      case 'other': return
    }
  }

  /** A yes used by an attempt whose predecessor was struck; a call that was held back to the end of its run. */
  #seeRearm(row: Row | undefined): void {
    const { tally, observer } = this.watch
    if (row?.['outcome'] === 'fenced') tally.count('fencedWrites')
    const action = row?.['outcome'] === 'sent' ? (row['action'] as { run_id: string; item_seq: number; epoch: number; tool: string; sends: number }) : undefined
    if (action?.sends !== 1) return
    if (action.tool === 'staged') tally.count('stagedSends')
    if (action.tool === 'asked' && observer.wasStopped({ runId: action.run_id, seq: action.item_seq, epoch: action.epoch - 1 })) tally.count('approvalsAfterTakeover')
  }

  /** A place read back after a flush: an epoch that is no longer there was fenced; a token that is there proves a write whose answer was lost. */
  #seePlaces(rows: readonly Row[]): void {
    for (const row of rows) {
      if (row['epoch'] !== row['want']) this.watch.tally.count('fencedWrites')
      for (const { token } of (row['actions'] ?? []) as { token: string | null }[]) {
        const lost = token === null ? undefined : this.#lostTokens.get(token)
        if (token === null || lost === undefined) continue
        this.#lostTokens.delete(token)
        this.watch.tally.count(lost)
      }
    }
  }

  #remember(params: readonly unknown[], rows: readonly Row[]): void {
    const intended = (rows[0]?.['intended'] ?? []) as { token: string }[]
    for (const { token } of intended) this.#lostTokens.set(token, 'lostAckIntent')
    const completed = new Set(((rows[0]?.['completed'] ?? []) as { run: string; key: string; status: string }[]).filter((one) => one.status === 'committed').map((one) => `${one.run}:${one.key}`))
    for (const one of JSON.parse(String(params[1])) as { run: string; key: string; token: string }[]) {
      if (completed.has(`${one.run}:${one.key}`)) this.#lostTokens.set(one.token, 'lostAckCompletion')
    }
  }
}
