/**
 * Unwinding a run: everything unsettled is settled first, without a forward effect, then committed writes are undone newest first, one at a time.
 * What comes next is derived from the ledger each time, so a crash between two undos loses nothing.
 */
import { decode, digest, encode } from '@pawl/core'
import { closeCompensation, listUnsettled, listWithoutUndo, nextToUndo, readAction, type ActionRow, type BareWrite } from '@pawl/ledger'
import { z } from 'zod'
import type { Attempt } from './attempt.ts'
import { callOrParked } from './bracket.ts'
import { isUnkept, undoOf } from './completion-of.ts'
import type { KindOutcome } from './kind-outcome.ts'
import { settleOne } from './settle.ts'
import { toolByName } from './tool-by-name.ts'

/** Everything unsettled of the run, found out without a forward effect. False: the attempt was parked (something is in doubt). */
async function settleRun(attempt: Attempt): Promise<boolean> {
  const leave = attempt.enter()
  try {
    const unsettled = await listUnsettled(attempt.parts.ledger, attempt.run.id)
    const settled = await Promise.all(unsettled.filter((action) => action.status !== 'in_doubt').map((action) =>
      settleOne(attempt, action, toolByName(attempt.agent, action.tool, action.tool_version), attempt.begun, { isForwardAllowed: false })))
    const doubtful = unsettled.find((action) => action.status === 'in_doubt')
    if (doubtful) attempt.park({ kind: 'blocked', reason: 'in_doubt', detail: { action: doubtful.id, tool: doubtful.tool } })
    return !attempt.ending && settled.every((one) => one.kind !== 'parked')
  } finally {
    leave()
  }
}

export async function runSettle(attempt: Attempt): Promise<KindOutcome> {
  return (await settleRun(attempt)) ? { kind: 'done' } : { kind: 'parked' }
}

const undoText = z.object({ tool: z.string(), version: z.string(), input: z.unknown() })

export async function runCompensate(attempt: Attempt): Promise<KindOutcome> {
  const { ledger, failpoint } = attempt.parts
  if (!(await settleRun(attempt))) return { kind: 'parked' }
  const unwritten = await listUnwritten(attempt)
  for (let next = await findNext(attempt, unwritten); next; next = await findNext(attempt, unwritten)) {
    const { action } = next
    if (!(await undo(attempt, next))) return { kind: 'parked' }
    await attempt.durable()
    if (attempt.ending) return { kind: 'parked' }
    await failpoint('between-undos', { ...attempt.holder, tool: action.tool, key: action.key })
  }
  const closed = await closeCompensation(ledger, attempt.holder)
  if (closed.outcome === 'closed') return { kind: 'closed' }
  attempt.park(closed.outcome === 'open' ? { kind: 'interrupted' } : { kind: 'lost' })
  return { kind: 'parked' }
}

interface Undoable {
  readonly action: ActionRow
  /** `{ tool, version, input }`, encoded. */
  readonly undo: string
}

/** Committed writes whose inverse the ledger does not have although their tool has one, oldest first: settled by a person, whose answer brings a result only. */
async function listUnwritten(attempt: Attempt): Promise<BareWrite[]> {
  const found: BareWrite[] = []
  for await (const write of listWithoutUndo(attempt.parts.ledger, attempt.run.id)) {
    if (toolByName(attempt.agent, write.tool, write.tool_version)?.undo) found.push(write)
  }
  return found.toSorted((a, b) => a.order_no - b.order_no)
}

/** Read whole only now that its turn has come. Undefined: it has none, or it cannot be built from what is known. */
async function undoUnwritten(attempt: Attempt, write: BareWrite): Promise<Undoable | undefined> {
  const tool = toolByName(attempt.agent, write.tool, write.tool_version)
  const action = await readAction(attempt.parts.ledger, attempt.run.id, write.key)
  if (tool === undefined || action?.status !== 'committed' || action.result === null || isUnkept(action.result)) return undefined
  const undo = undoOf(tool, decode(action.args), decode(action.result))
  return undo === null ? undefined : { action, undo }
}

/** The newest of what is left. Takes it off `unwritten`. */
async function findNext(attempt: Attempt, unwritten: BareWrite[]): Promise<Undoable | undefined> {
  const action = await nextToUndo(attempt.parts.ledger, attempt.run.id)
  for (let other = unwritten.at(-1); other && (!action || other.order_no > action.order_no); other = unwritten.at(-1)) {
    unwritten.pop()
    const undoable = await undoUnwritten(attempt, other)
    if (undoable) return undoable
  }
  return action && { action, undo: action.undo ?? 'null' }
}

async function undo(attempt: Attempt, { action, undo: text }: Undoable): Promise<boolean> {
  const inverse = undoText.parse(decode(text))
  const tool = toolByName(attempt.agent, inverse.tool, inverse.version)
  const block = (why: string): false => {
    attempt.park({ kind: 'blocked', reason: 'undo', detail: { action: action.id, tool: inverse.tool, why } })
    return false
  }
  if (!tool) return block(`tool "${inverse.tool}" is not registered in this build`)
  if (tool.version !== inverse.version) return block(`it needs version ${inverse.version} of ${inverse.tool}, this build has ${tool.version}: keep the older one in previousTools`)
  const parsed = tool.inputSchema.safeParse(inverse.input)
  if (!parsed.success) return block(`its input does not fit: ${parsed.error.issues[0]?.message ?? 'unknown'}`)
  const input: unknown = parsed.data
  const call = { tool, input, args: encode(input, { what: 'undo input' }), argsDigest: digest(input), key: `undo:${action.key}`, undoes: action.id }
  const refusal = await callOrParked(attempt, call).then(() => undefined, (error: unknown) => error)
  if (attempt.ending) return false
  return refusal === undefined || block(refusal instanceof Error ? refusal.message : 'it failed')
}
