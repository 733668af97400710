/** What an item's kind does once it is claimed and settled. Each returns how the item ends; `run-item.ts` writes it. */
import { decode, digest, encode, PawlError, type ErrorRecord } from '@pawl/core'
import { appendItems, closeCompensation, closeRun, listUnsettled, nextToUndo, openSplitStream, readRun, sealRun, startCompensation, tallyRun, type ActionRow } from '@pawl/ledger'
import { z } from 'zod'
import { contextOf, factsOf, toolsOf } from './agent-context.ts'
import type { Attempt } from './attempt.ts'
import { makeCall } from './bracket.ts'
import type { ItemOutcome, ItemSeed } from './define-agent.ts'
import { encodeItems } from './encode-items.ts'
import { settleOne } from './settle.ts'
import { toolByName } from './tool-by-name.ts'

export type KindOutcome =
  | { readonly kind: 'done'; readonly outcome?: ItemOutcome | undefined }
  /** The ledger has it already, the run's transition included. */
  | { readonly kind: 'closed' }
  /** The attempt was parked; its ending says why. */
  | { readonly kind: 'parked' }

export async function runWork(attempt: Attempt): Promise<KindOutcome> {
  const payload = attempt.agent.payloadSchema.parse(decode(attempt.item.payload)) as unknown
  const outcome = await attempt.agent.run({ input: inputOf(attempt), payload, tools: toolsOf(attempt), ctx: contextOf(attempt) })
  return { kind: 'done', outcome: (outcome ?? undefined) as ItemOutcome | undefined }
}

const inputOf = (attempt: Attempt): unknown => attempt.agent.inputSchema.parse(decode(attempt.run.input)) as unknown

const chunkSize = 1_000

/** Items go in by key, so a split that dies goes on: what is there stays. Nothing is dispatched before the run is sealed. */
export async function runSplit(attempt: Attempt): Promise<KindOutcome> {
  const { ledger, failpoint } = attempt.parts
  const streamNo = await openSplitStream(ledger, attempt.holder)
  if (streamNo === null) return await splitOver(attempt)
  const append = async (seeds: readonly ItemSeed<unknown>[]): Promise<boolean> => {
    const answer = await appendItems(ledger, attempt.run.id, streamNo, encodeItems(attempt.agent, seeds))
    if (answer.outcome === 'duplicate') {
      throw new PawlError('DUPLICATE_ITEMS', `split of "${attempt.agent.name}" yielded the key ${(answer.duplicates ?? []).map((key) => `"${key}"`).join(', ')} twice. Item keys are unique in a run.`, 'fail')
    }
    return answer.outcome === 'added'
  }
  let chunk: ItemSeed<unknown>[] = []
  for await (const seed of attempt.agent.split?.(inputOf(attempt)) ?? []) {
    if (attempt.ending) return { kind: 'parked' }
    chunk.push(seed as ItemSeed<unknown>)
    if (chunk.length < chunkSize) continue
    if (!(await append(chunk))) return await splitOver(attempt)
    chunk = []
  }
  if (chunk.length > 0 && !(await append(chunk))) return await splitOver(attempt)
  await failpoint('before-seal', attempt.holder)
  await sealRun(ledger, attempt.run.id, streamNo, null)
  return await splitOver(attempt)
}

/** Sealed by this attempt or an earlier one: done. Anything else: somebody took over. */
async function splitOver(attempt: Attempt): Promise<KindOutcome> {
  const run = await readRun(attempt.parts.ledger, attempt.run.id)
  if (run?.status !== 'splitting') return { kind: 'done' }
  attempt.park({ kind: 'interrupted' })
  return { kind: 'parked' }
}

export async function runFinalize(attempt: Attempt): Promise<KindOutcome> {
  const { ledger } = attempt.parts
  const tally = await tallyRun(ledger, attempt.run.id)
  const onFailure = attempt.run.policy.onFailure
  const hasFailed = tally.failed > 0
  if (hasFailed && onFailure === 'compensate') {
    await startCompensation(ledger, attempt.run.id, 'policy', `${tally.failed} of ${tally.total} items failed`)
    return { kind: 'closed' }
  }
  const isHeld = hasFailed && onFailure === 'hold'
  const finalized = isHeld || !attempt.agent.finalize ? undefined
    : await attempt.agent.finalize({ input: inputOf(attempt), run: { ...factsOf(attempt), tally }, tools: toolsOf(attempt), ctx: contextOf(attempt) })
  await attempt.quiet()
  await attempt.durable()
  if (attempt.ending) return { kind: 'parked' }
  await attempt.parts.failpoint('before-finish', attempt.holder)
  const status = isHeld ? 'failed' : hasFailed ? 'completed_with_failures' : 'completed'
  const error: ErrorRecord | null = isHeld ? { name: 'ItemsFailed', message: `${tally.failed} of ${tally.total} items failed. Resume the run, or compensate it.` } : null
  const closed = await closeRun(ledger, attempt.holder, { status, result: keepFinal(finalized), error: error && JSON.stringify(error) })
  if (closed === 'closed') return { kind: 'closed' }
  attempt.park(closed === 'open' ? { kind: 'interrupted' } : { kind: 'lost' })
  return { kind: 'parked' }
}

const keepFinal = (finalized: unknown): string | null => {
  const result = (finalized as { result?: unknown } | undefined)?.result
  return result === undefined ? null : encode(result, { what: 'result of finalize' })
}

/** Everything unsettled of the run, found out without a forward effect. False: the attempt was parked (something is in doubt). */
async function settleRun(attempt: Attempt): Promise<boolean> {
  const leave = attempt.enter()
  try {
    const unsettled = await listUnsettled(attempt.parts.ledger, attempt.run.id)
    const settled = await Promise.all(unsettled.filter((action) => action.status === 'started').map((action) =>
      settleOne(attempt, action, toolByName(attempt.agent, action.tool), attempt.claimed, { isForwardAllowed: false })))
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

/** Settles first, then undoes committed writes newest first, one at a time. What comes next is derived, never stored. */
export async function runCompensate(attempt: Attempt): Promise<KindOutcome> {
  const { ledger, failpoint } = attempt.parts
  if (!(await settleRun(attempt))) return { kind: 'parked' }
  for (let action = await nextToUndo(ledger, attempt.run.id); action; action = await nextToUndo(ledger, attempt.run.id)) {
    if (!(await undo(attempt, action))) return { kind: 'parked' }
    await attempt.durable()
    if (attempt.ending) return { kind: 'parked' }
    await failpoint('between-undos', { ...attempt.holder, tool: action.tool, key: action.key })
  }
  const closed = await closeCompensation(ledger, attempt.holder)
  if (closed.outcome === 'closed') return { kind: 'closed' }
  attempt.park(closed.outcome === 'open' ? { kind: 'interrupted' } : { kind: 'lost' })
  return { kind: 'parked' }
}

async function undo(attempt: Attempt, action: ActionRow): Promise<boolean> {
  const inverse = undoText.parse(decode(action.undo ?? 'null'))
  const tool = toolByName(attempt.agent, inverse.tool)
  const block = (why: string): false => {
    attempt.park({ kind: 'blocked', reason: 'undo', detail: { action: action.id, tool: inverse.tool, why } })
    return false
  }
  if (!tool) return block(`tool "${inverse.tool}" is not registered in this build`)
  const parsed = tool.inputSchema.safeParse(inverse.input)
  if (!parsed.success) return block(`its input does not fit: ${parsed.error.issues[0]?.message ?? 'unknown'}`)
  const input: unknown = parsed.data
  const call = { tool, input, args: encode(input, { what: 'undo input' }), argsDigest: digest(input), key: `undo:${action.key}`, undoes: action.id }
  const outcome = await Promise.race([makeCall(attempt, call).then(() => 'undone' as const, (error: unknown) => ({ error })), attempt.parked])
  if (attempt.ending) return false
  return outcome === 'undone' || block(outcome instanceof Object && 'error' in outcome && outcome.error instanceof Error ? outcome.error.message : 'it failed')
}
