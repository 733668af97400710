/** The verdict over a chaos run that has become quiet: what the receivers logged, against what the ledger says and what the plans wanted. */
import type { Ledger } from '@pawl/ledger'
import { audit, type EffectLogEntry } from '../audit.ts'
import type { JudgedReceipt } from '../effects-log.ts'
import { WATCHED_TOOLS } from './chaos-tools.ts'
import type { DrivenRun } from './drive-run.ts'
import { isOfTheHole } from './known-hole.ts'
import type { Receiver } from './receiver.ts'
import { callsOf, type PlannedCall } from './run-plan.ts'

export interface Judgement {
  readonly effects: number
  readonly duplicates: number
  readonly knownHole: number
  readonly lost: number
  readonly violations: number
  readonly recallFromMemory: number
  readonly evidenceUsed: number
  readonly items: number
  readonly problems: readonly string[]
}

type Row = Record<string, unknown>
type Applied = ReadonlyMap<string, number>
const nameOf = (op: string, subject: string): string => `${op} ${subject}`
const live = `('pending', 'in_progress', 'blocked')`

export async function judge(ledger: Ledger, effects: Receiver, runs: readonly DrivenRun[]): Promise<Judgement> {
  const receipts = effects.receipts()
  const watched = receipts.filter((receipt) => !isOfTheHole(receipt.subject))
  const applied = await countApplied(ledger, watched)
  const duplicates = await Promise.all([...applied].filter(([, n]) => n > 1).map(async ([name, n]) => `${name} was applied ${n} times: ${await tellStory(ledger, watched, name)}`))
  const broken = await listViolations(ledger, watched)
  const { lost, wrong } = await compareRuns(ledger, applied, runs)
  const [counts] = await ledger.query<{ evidence: number; items: number }>(`select (select count(*) from pawl.actions where settled_by = 'evidence')::integer as evidence, (select count(*) from pawl.items)::integer as items`)
  return {
    effects: [...applied.values()].reduce((sum, n) => sum + n, 0),
    duplicates: [...applied.values()].reduce((sum, n) => sum + Math.max(0, n - 1), 0),
    knownHole: countHole(receipts),
    lost: lost.length,
    violations: broken.length + wrong.length,
    recallFromMemory: countRecalls(watched),
    evidenceUsed: counts?.evidence ?? 0,
    items: counts?.items ?? 0,
    problems: [...duplicates, ...lost, ...broken, ...wrong],
  }
}

/** What became of a call, for whoever has to find out why: its receipts, its row, its events. */
async function tellStory(ledger: Ledger, receipts: readonly JudgedReceipt[], name: string): Promise<string> {
  const seen = receipts.filter((receipt) => nameOf(receipt.op, receipt.subject) === name)
  const keys = JSON.stringify([...new Set(seen.map((receipt) => receipt.key))])
  const rows = await ledger.query(`select a.key, a.tool, a.status, a.attempt, a.epoch, a.sends, a.refused, a.settled_by, a.evidence, a.started_at, a.committed_at,
    (select json_agg(json_build_array(e.kind, e.at, e.data, e.item_seq) order by e.id) from pawl.events e where e.run_id = a.run_id and (e.item_seq = a.item_seq or e.item_seq is null)) as events
    from pawl.actions a where a.key in (select json_array_elements_text($1::json))`, [keys])
  return JSON.stringify({ receipts: seen.map(({ at, epoch, attempt, applied, key }) => ({ at, epoch, attempt, applied, key })), rows })
}

function countHole(receipts: readonly JudgedReceipt[]): number {
  const hole = receipts.filter((receipt) => isOfTheHole(receipt.subject) && receipt.applied)
  return hole.length - new Set(hole.map((receipt) => receipt.subject)).size
}

async function countApplied(ledger: Ledger, receipts: readonly JudgedReceipt[]): Promise<Applied> {
  const applied = new Map<string, number>()
  const add = (name: string, n: number): void => void applied.set(name, (applied.get(name) ?? 0) + n)
  for (const receipt of receipts) if (receipt.applied) add(nameOf(receipt.op, receipt.subject), 1)
  for (const row of await ledger.query<Row & { op: string; subject: string; n: number }>('select op, subject, count(*)::integer as n from effects group by op, subject')) add(nameOf(row.op, row.subject), row.n)
  return applied
}

/** Receipts that a receiver with a memory answered without acting again. */
function countRecalls(receipts: readonly JudgedReceipt[]): number {
  const done = new Set<string>()
  let recalls = 0
  for (const receipt of receipts) {
    if (receipt.class !== 'keyed' && receipt.class !== 'racy') continue
    if (receipt.applied) done.add(receipt.key)
    else if (done.has(receipt.key)) recalls++
  }
  return recalls
}

async function listViolations(ledger: Ledger, receipts: readonly JudgedReceipt[]): Promise<string[]> {
  const effects = receipts.map((receipt): EffectLogEntry => ({
    key: receipt.key, applied: receipt.applied, at: new Date(receipt.at), tool: receipt.class, ...(receipt.epoch === null ? {} : { epoch: receipt.epoch }), ...(receipt.attempt === null ? {} : { attempt: receipt.attempt }),
  }))
  const report = await audit(ledger, { effects, tools: WATCHED_TOOLS })
  const found = report.violations.flatMap((one) => one.rows.map((row) => `${one.name}: ${one.sentence} ${JSON.stringify(row)}`))
  const digests = new Map<string, string>()
  for (const { key, digest } of receipts) {
    if ((digests.get(key) ?? digest) !== digest) found.push(`one-body: key ${key} was received with two bodies`)
    digests.set(key, digest)
  }
  return found
}

/** Each run as its plan wants it: nothing of a finished item is missing, nothing of a compensated run stands. */
async function compareRuns(ledger: Ledger, applied: Applied, runs: readonly DrivenRun[]): Promise<{ lost: string[]; wrong: string[] }> {
  const lost: string[] = []
  const wrong: string[] = []
  for (const row of await ledger.query(`select run_id, seq, kind, status, blocked_reason from pawl.items where status in ${live} limit 20`)) lost.push(`a live item is left: ${JSON.stringify(row)}`)
  const statuses = new Map<string, string>()
  for (const row of await ledger.query<Row & { run_id: string; key: string; status: string }>(`select run_id, key, status from pawl.items where kind = 'work'`)) statuses.set(`${row.run_id} ${row.key}`, row.status)
  const errors = new Map((await ledger.query<Row & { id: string; name: string | null }>(`select id, error::json ->> 'name' as name from pawl.runs where status = 'failed'`)).map((row) => [row.id, row.name]))
  for (const { plan, runId, status } of runs) {
    const count = (op: string, call: PlannedCall): number => applied.get(nameOf(op, call.subject)) ?? 0
    const writes = (calls: readonly PlannedCall[]): readonly PlannedCall[] => calls.filter((call) => call.tool !== 'read')
    const isFinished = status === 'completed' || status === 'completed_with_failures'
    for (const item of plan.items) {
      const itemStatus = statuses.get(`${runId} ${item.key}`)
      if (itemStatus === undefined && isFinished) lost.push(`item ${item.key} of run ${runId} (${plan.kind}) is missing`)
      if (itemStatus !== 'done') continue
      for (const call of writes(item.steps.flat())) if (count('do', call) === 0 && (call.tool !== 'staged' || isFinished)) lost.push(`${call.tool} ${call.subject} of run ${runId} was never applied, its item is done`)
    }
    // Held for a person, that is: a finalizer that failed for good may have sent them.
    if (errors.get(runId) === 'ItemsFailed') for (const call of callsOf(plan)) if (call.tool === 'staged' && count('do', call) > 0) wrong.push(`${call.subject} of run ${runId} was held back to its end and sent, although the run is held`)
    if (isFinished && count('do', plan.last) === 0) lost.push(`${plan.last.tool} ${plan.last.subject} of run ${runId} was never applied, the run is ${status}`)
    if (status === 'compensated') for (const call of writes(callsOf(plan))) if (count('do', call) !== count('undo', call)) wrong.push(`${call.tool} ${call.subject} of the compensated run ${runId}: done ${count('do', call)} times, undone ${count('undo', call)} times`)
    if (!endings[plan.kind].includes(status)) wrong.push(`run ${runId} (${plan.kind}) ended ${status}`)
  }
  return { lost, wrong }
}

const forward = ['completed', 'completed_with_failures']
/** `failed`: an error struck an item that may fail once only, and the run is held for a person. */
const endings: Readonly<Record<DrivenRun['plan']['kind'], readonly string[]>> = {
  plain: forward, split: forward, paused: forward, resumed: [...forward, 'failed'], 'compensated by policy': ['compensated', 'failed'],
  'compensated by a person': [...forward, 'compensated'], cancelled: ['cancelled', ...forward], 'cancelled, then compensated': ['compensated', ...forward],
}
