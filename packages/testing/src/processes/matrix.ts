/**
 * The failpoint matrix in real processes: at every place of the crash table, for every effect class, a worker process kills itself with SIGKILL, stands still
 * past its lease, or loses an answer; its successor carries on; and what the receivers logged is compared with what is right.
 * A process works on one item at a time, so that nothing is struck but what is meant.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { newRunId } from '@pawl/core'
import type { FailpointName } from '@pawl/harness'
import { beginRun } from '../chaos/begin-run.ts'
import { chaosTools } from '../chaos/chaos-tools.ts'
import { CALL_TOOLS, KEPT_TOOLS } from '../chaos/run-plan.ts'
import { MATRIX_TOOLS, matrixAgent, type MatrixKind } from './matrix-agent.ts'
import { Stage, timings, type StageOptions } from './stage.ts'

export type MatrixTool = (typeof MATRIX_TOOLS)[number]
type Does = 'kill' | 'stop' | 'loseAck'

export interface Cell {
  readonly kind: MatrixKind
  readonly tool: MatrixTool
  readonly at: FailpointName
  readonly does: Does
}

export interface CellOutcome {
  readonly cell: Cell
  readonly runId: string
  readonly status: string
  readonly receipts: number
  readonly effects: number
  readonly wasAsked: boolean
  readonly attempts: number
  /** Each planned strike, whether it struck. */
  readonly struck: readonly boolean[]
  /** A sentence for each thing that is wrong. */
  readonly problems: readonly string[]
}

const everywhere: readonly FailpointName[] = ['before-claim', 'after-claim', 'before-intent', 'after-intent', 'before-send', 'after-answer', 'after-completion', 'before-finish', 'after-finish', 'before-settle']
const aroundTheRequest: readonly FailpointName[] = ['before-request', 'after-request']
const aroundTheCall: readonly FailpointName[] = ['before-intent', 'after-intent', 'before-send', 'after-answer', 'after-completion']
const undoable: readonly MatrixTool[] = ['keyed', 'lookup', 'tx']

/** Every cell of one effect class. */
export const cellsOf = (tool: MatrixTool): readonly Cell[] => [
  ...everywhere.map((at): Cell => ({ kind: 'work', tool, at, does: 'kill' })),
  { kind: 'split', tool, at: 'before-seal', does: 'kill' },
  { kind: 'think', tool, at: 'after-decision', does: 'kill' },
  { kind: 'think', tool, at: 'after-turn', does: 'kill' },
  ...(undoable.includes(tool) ? [...aroundTheCall, 'between-undos', 'before-settle'] as const : []).map((at): Cell => ({ kind: 'compensate', tool, at, does: 'kill' })),
  { kind: 'work', tool, at: 'before-send', does: 'stop' },
  { kind: 'work', tool, at: 'after-answer', does: 'stop' },
  // The commit of a transaction is not a write that is written again.
  ...(tool === 'tx' ? [] : [{ kind: 'work', tool, at: 'before-intent', does: 'loseAck' }, { kind: 'work', tool, at: 'after-answer', does: 'loseAck' }] as const),
]
/** Calls that are written down before they may be sent: by an attempt that dies around its asking, and around its send. */
const keptCells: readonly Cell[] = KEPT_TOOLS.flatMap((tool) => [
  ...(['work', 'think'] as const).flatMap((kind) => (['before-request', 'after-request'] as const).map((at): Cell => ({ kind, tool, at, does: 'kill' }))),
  ...(['before-send', 'after-answer'] as const).map((at): Cell => ({ kind: 'work', tool, at, does: 'kill' })),
])
export const allCells: readonly Cell[] = [...CALL_TOOLS.flatMap(cellsOf), ...keptCells]

export const nameOf = ({ kind, tool, at, does }: Cell): string => `${does} ${at} of a ${kind} item, ${tool}`
const toolNames: Readonly<Record<MatrixTool, string>> = { read: 'read', keyed: 'keyed', keyedSlow: 'keyed-slow', lookup: 'lookup', opaque: 'opaque', tx: 'tx', asked: 'asked', staged: 'staged' }
const stopMs = timings.leaseMs * 1.5
const lanesPerProcess = 4

/** As `PAWL_FAILPOINTS` wants it. A settler has to have something to settle first. */
function failpointsOf({ kind, tool, at, does }: Cell, runId: string): readonly string[] {
  const name = `${toolNames[tool]}${kind === 'compensate' ? '.undo' : ''}`
  const where = `[run=${runId}]`
  const isOfTool = [...aroundTheCall, ...aroundTheRequest].includes(at)
  const strike = `${at}${where}${isOfTool ? `[tool=${name}]` : ''}:${does === 'stop' ? `stop(${stopMs})` : does}`
  return at === 'before-settle' ? [`after_intent${where}[tool=${name}]:kill`, strike] : [strike]
}

interface Right {
  readonly effects: number
  /** Undefined: either is right, depending on who is first. */
  readonly receipts: number | 'at least 2' | undefined
  readonly isAsked: boolean | undefined
}

function rightOf({ kind, tool, at, does }: Cell): Right {
  const effects = tool === 'read' ? 0 : 1
  if (tool === 'tx') return { effects, receipts: 0, isAsked: false }
  if (does === 'loseAck') return { effects, receipts: 1, isAsked: false }
  // The first intent is durable with the turn: whether its request had left when the process died is a race.
  if (at === 'after-turn') return { effects, receipts: undefined, isAsked: tool === 'opaque' ? undefined : false }
  const isAnswered = at === 'after-answer'
  const isOpen = at === 'after-intent' || at === 'before-send' || at === 'before-settle' || isAnswered
  const mayRepeat = tool === 'read' || tool === 'keyed' || tool === 'keyedSlow' || tool === 'staged'
  // What was completed a moment ago may have died on its way: only the next send waits for it.
  if (at === 'after-completion') return { effects, receipts: mayRepeat ? undefined : 1, isAsked: tool === 'opaque' && kind !== 'compensate' ? undefined : false }
  // A process that only stood still goes on before or after somebody is asked or the call is repeated: who is first depends on when its lease was looked at.
  if (does === 'stop') return { effects, receipts: isAnswered && mayRepeat ? undefined : 1, isAsked: tool === 'opaque' ? undefined : false }
  return { effects, receipts: isAnswered && mayRepeat ? 'at least 2' : 1, isAsked: tool === 'opaque' && isOpen && kind !== 'compensate' }
}

export interface MatrixReport {
  readonly outcomes: readonly CellOutcome[]
  readonly problems: readonly string[]
  readonly needless: readonly string[]
  readonly contradictions: readonly string[]
}

/** Plays the cells on a stage of one item per process. */
export async function playMatrix(stage: Stage, cells: readonly Cell[]): Promise<MatrixReport> {
  const planned = cells.map((cell) => ({ cell, runId: newRunId() }))
  const plan: string[] = []
  const entries = planned.map(({ cell, runId }) => failpointsOf(cell, runId).map((text) => plan.push(text) - 1))
  stage.startFleet(plan.join(','))
  // Only its name, version and items are looked at here; the calls are made by the workers' own.
  const agent = matrixAgent(chaosTools(stage))
  const play = async ({ cell, runId }: (typeof planned)[number], i: number): Promise<CellOutcome> => {
    const input = { kind: cell.kind, tool: cell.tool, subject: nameOf(cell) }
    await beginRun(stage.ledger, agent, input, cell.kind === 'split' ? null : [{ key: 'only', payload: null }], agent.policy ?? {}, () => {}, runId)
    stage.touch(runId)
    const status = await stage.watch.ended(runId).catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
    return await judgeCell(stage, cell, runId, status, (entries[i] ?? []).map((n) => existsSync(join(stage.folder, `${n}.json`))))
  }
  // A few more than there are processes: who waits for a verify or a person leaves its process to another.
  const waiting = planned.map((one, i) => ({ one, i }))
  const outcomes: CellOutcome[] = []
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) outcomes.push(await play(next.one, next.i))
  }
  await Promise.all(Array.from({ length: stage.options.processes * lanesPerProcess }, lane))
  await stage.seen([])
  const problems = outcomes.flatMap((one) => one.problems)
  for (const { cell, struck, attempts } of outcomes) if (struck.at(-1) === true) countCell(stage, cell, attempts > 1)
  return { outcomes, problems, needless: [...stage.person.needless], contradictions: [...stage.person.contradictions] }
}

function countCell({ tally }: Stage, { kind, tool, at, does }: Cell, isTakenOver: boolean): void {
  tally.strike(at)
  if (at === 'before-settle') tally.strike('after-intent')
  const isOpen = at === 'after-intent' || at === 'before-send' || at === 'before-settle' || at === 'after-answer'
  if (does === 'loseAck') tally.count(at === 'before-intent' ? 'lostAckIntent' : 'lostAckCompletion')
  else if (isOpen) tally.countUnsettled(`${toolNames[tool]}${kind === 'compensate' ? '.undo' : ''}`)
  if (does === 'stop' && isTakenOver) tally.count('zombiesAfterTakeover')
  // It died with its request written, or with the yes in hand.
  if (tool === 'asked' && (at === 'after-request' || at === 'before-send') && isTakenOver) tally.count('approvalsAfterTakeover')
  tally.fault(does === 'kill' ? 'crash' : does === 'stop' ? 'freeze' : 'lostAck')
}

async function judgeCell(stage: Stage, cell: Cell, runId: string, status: string, struck: readonly boolean[]): Promise<CellOutcome> {
  const { ledger, effects } = stage
  const subject = nameOf(cell)
  const op = cell.kind === 'compensate' ? 'undo' : 'do'
  const seen = effects.receipts().filter((receipt) => receipt.subject === subject && receipt.op === op)
  const [rows] = await ledger.query<{ transactional: number; asked: boolean; attempts: number }>(`select (select count(*) from effects where subject = $2 and op = $3)::integer as transactional,
    exists (select 1 from pawl.events where run_id = $1 and kind = 'action.answered') as asked, (select max(attempts) from pawl.items where run_id = $1)::integer as attempts`, [runId, subject, op])
  const outcome = { cell, runId, status, receipts: seen.length, effects: seen.filter((receipt) => receipt.applied).length + (rows?.transactional ?? 0), wasAsked: rows?.asked ?? false, attempts: rows?.attempts ?? 0, struck }
  return { ...outcome, problems: compare(outcome).map((problem) => `${subject} (run ${runId}): ${problem}`) }
}

function compare({ cell, status, receipts, effects, wasAsked, attempts, struck }: Omit<CellOutcome, 'problems'>): string[] {
  const right = rightOf(cell)
  const problems: string[] = []
  const wanted = cell.kind === 'compensate' ? 'compensated' : 'completed'
  if (!struck.every(Boolean)) problems.push(`the process was not struck there (${struck.join(', ')})`)
  if (status !== wanted) problems.push(`it ended ${status}, not ${wanted}`)
  if (effects !== right.effects) problems.push(`${effects} effects, ${right.effects} are right`)
  if (right.receipts === 'at least 2' ? receipts < 2 : right.receipts !== undefined && receipts !== right.receipts) problems.push(`${receipts} receipts, ${right.receipts} are right`)
  if (right.isAsked !== undefined && wasAsked !== right.isAsked) problems.push(wasAsked ? 'a person was asked for nothing' : 'nobody was asked')
  // The verdict was durable, or nothing was claimed yet, or nobody died: no second attempt is needed. Everywhere else it is, or nothing was crashed.
  if (cell.does === 'kill' && cell.at !== 'after-finish' && cell.at !== 'before-claim' && attempts < 2) problems.push('there was no second attempt')
  return problems
}

/** @param options processes work on one item each. */
export async function runMatrix(options: Omit<StageOptions, 'concurrency'>, cells: readonly Cell[]): Promise<{ stage: Stage; report: MatrixReport }> {
  const stage = await Stage.open({ ...options, concurrency: 1 })
  return { stage, report: await playMatrix(stage, cells).catch(async (error: unknown) => { await stage.close(); throw error }) }
}
