/**
 * Real load through the ledger's doors while something breaks: claims, flushes with tokens, reads, and transactions that commit or roll back.
 * It keeps what the ledger acknowledged and what it was told had failed, and compares afterwards: nothing acknowledged is missing, nothing rolled back is there.
 */
import { newId, newRunId } from '@pawl/core'
import { appendItems, claimItems, Ledger, migrateLedger, openStream, sealRun, startRun, withTransaction, Writer, type LedgerOptions } from '@pawl/ledger'

export interface LoadReport {
  readonly operations: number
  readonly failed: number
  readonly acknowledged: number
  readonly slowestMs: number
  /** Operations that took longer than the bar, or had not ended when everything else had. */
  readonly late: number
  readonly lostRows: number
  readonly survivors: number
  readonly closeMs: number
  readonly problems: readonly string[]
}

/** What every operation of the ledger must have settled within. */
export const settleBarMs = 15_000
const lanes = 12

class Meter {
  operations = 0
  failed = 0
  slowestMs = 0
  late = 0
  readonly open = new Map<number, { what: string; since: number }>()
  readonly problems: string[] = []

  async time<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    const n = ++this.operations
    const since = performance.now()
    this.open.set(n, { what, since })
    try {
      return await work()
    } catch {
      this.failed++
      return undefined
    } finally {
      this.open.delete(n)
      this.#judge(what, performance.now() - since)
    }
  }

  #judge(what: string, ms: number): void {
    this.slowestMs = Math.max(this.slowestMs, ms)
    if (ms <= settleBarMs) return
    this.late++
    if (this.problems.length < 20) this.problems.push(`${what} took ${Math.round(ms)} ms`)
  }

  /** What never ended. */
  finish(): void {
    for (const { what, since } of this.open.values()) this.#judge(`${what}, still open,`, performance.now() - since)
  }
}

/**
 * @param url what the load goes through; `direct` reaches the server itself, for the comparison at the end.
 * @param breakIt runs beside the load, which ends with it.
 */
export async function loadLedger(url: string, direct: string, breakIt: () => Promise<void>, options: Partial<LedgerOptions> = {}): Promise<LoadReport> {
  const control = new Ledger({ url: direct, name: 'load control', connections: 2 })
  await migrateLedger(control)
  await control.query('create table if not exists public.load_marks (id uuid primary key, kind text not null)')
  const ledger = new Ledger({ url, name: 'load', connections: 4, ...options })
  const meter = new Meter()
  const state = { isOver: false, committed: new Set<string>(), rolledBack: new Set<string>() }
  const working = Array.from({ length: lanes }, (_, lane) => (lane % 3 === 0 ? transactLane(ledger, meter, state) : flushLane(ledger, control, meter, state)))
  await breakIt()
  state.isOver = true
  await Promise.race([Promise.allSettled(working), new Promise((resolve) => setTimeout(resolve, settleBarMs + 5_000))])
  meter.finish()
  const closing = performance.now()
  await ledger.close()
  const closeMs = Math.round(performance.now() - closing)
  const there = new Set((await control.query<{ id: string }>(`select id::text from public.load_marks union select token::text from pawl.actions where token is not null`, [], { retryForMs: 30_000 })).map(({ id }) => id))
  const lost = [...state.committed].filter((id) => !there.has(id))
  const survivors = [...state.rolledBack].filter((id) => there.has(id))
  await control.close()
  return {
    operations: meter.operations, failed: meter.failed, acknowledged: state.committed.size, slowestMs: Math.round(meter.slowestMs), late: meter.late,
    lostRows: lost.length, survivors: survivors.length, closeMs,
    problems: [
      ...meter.problems, ...lost.slice(0, 5).map((id) => `acknowledged and missing: ${id}`), ...survivors.slice(0, 5).map((id) => `rolled back and there: ${id}`),
      ...(closeMs > 5_000 ? [`close() took ${closeMs} ms`] : []),
    ],
  }
}

interface LoadState {
  isOver: boolean
  /** Ids of rows whose write was acknowledged. */
  readonly committed: Set<string>
  readonly rolledBack: Set<string>
}

/** One item after another: claim, three calls, finish. A lost answer is the writer's to deal with. */
async function flushLane(ledger: Ledger, control: Ledger, meter: Meter, state: LoadState): Promise<void> {
  while (!state.isOver) {
    const runId = newRunId()
    const made = await startItem(control, runId).then(() => true, () => false)
    if (!made) continue
    const claimed = await meter.time('claim', () => claimItems(ledger, [{ runId, seq: 1, generation: null }], { workerId: newId(), nonce: newId(), leaseMs: 60_000, alone: false }))
    const epoch = claimed?.[0]?.item?.epoch
    if (epoch === undefined) continue
    const writer = new Writer(ledger, { leaseMs: 60_000, retryMs: 50 })
    const by = { runId, seq: 1 }
    for (let n = 0; n < 3 && !state.isOver; n++) {
      const token = newId()
      const key = `call-${n}`
      const sent = await meter.time('intent', () => writer.intent(by, epoch, { key, token, tool: 'load', toolVersion: '1', effect: 'non-idempotent', args: '{}', argsDigest: 'd', undo: null, undoes: null, timeoutMs: 1_000, settleMs: 1_000, keyWindowMs: null }))
      if (sent?.outcome === 'sent') state.committed.add(token)
      await meter.time('completion', () => writer.completion(by, epoch, { key, token, outcome: 'committed', result: '1', error: null, undo: null }))
    }
    await meter.time('finish', () => writer.finish(by, epoch, { status: 'done', result: '1' }))
    writer.close()
  }
}

async function startItem(control: Ledger, runId: string): Promise<void> {
  await startRun(control, { id: runId, namespace: 'load', key: null, digest: null, agent: 'load', agentVersion: '1', modelVersion: null, promptVersion: null, schemaVersion: 1, lockDigest: null, input: '{}', labels: {}, policy: {}, createdBy: 'load', split: false })
  const stream = await openStream(control, runId, 60_000)
  await appendItems(control, runId, stream ?? 0, [{ key: 'one', payload: '{}' }])
  await sealRun(control, runId, stream ?? 0, null)
}

/** Transactions of two statements: every second one throws at its end, so that its rows must not be there. */
async function transactLane(ledger: Ledger, meter: Meter, state: LoadState): Promise<void> {
  for (let n = 0; !state.isOver; n++) {
    const ids = [newId(), newId()]
    const isMeantToFail = n % 2 === 1
    const answer = await meter.time('transaction', () => withTransaction(ledger, { timeoutMs: 5_000 }, async (tx) => {
      for (const id of ids) await tx.query('insert into public.load_marks values ($1, $2)', [id, 'transaction'])
      if (isMeantToFail) throw new Error('meant to fail')
      return 'committed'
    }).catch((error: unknown) => {
      // An answer to COMMIT that was lost says nothing; every other error says that nothing is there.
      if ((error as { code?: unknown }).code !== 'COMMIT_UNKNOWN') for (const id of ids) state.rolledBack.add(id)
      if (!isMeantToFail) throw error
      return 'rolled back'
    }))
    if (answer === 'committed') for (const id of ids) state.committed.add(id)
    await meter.time('read', () => ledger.query('select count(*) from public.load_marks'))
  }
}
