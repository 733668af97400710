/** What an item's kind does once it is claimed and settled. Each returns how the item ends; `run-item.ts` writes it. */
import { decode, encode, PawlError, type ErrorRecord } from '@pawl/core'
import { appendItems, closeRun, compensateByPolicy, openSplitStream, readRun, sealRun, tallyRun } from '@pawl/ledger'
import { discardUnasked } from './approval.ts'
import { contextOf, factsOf, toolsOf } from './agent-context.ts'
import type { Attempt } from './attempt.ts'
import type { ItemOutcome, ItemSeed } from './define-agent.ts'
import { encodeItems } from './encode-items.ts'
import type { KindOutcome } from './kind-outcome.ts'
import { sendStaged } from './staged.ts'
import { addedSchema, upcast } from './upcast.ts'

export async function runWork(attempt: Attempt): Promise<KindOutcome> {
  const payload = payloadOf(attempt)
  const outcome = await attempt.agent.run({ input: inputOf(attempt), payload, tools: toolsOf(attempt), ctx: contextOf(attempt) })
  return { kind: 'done', outcome: (outcome ?? undefined) as ItemOutcome | undefined }
}

const inputOf = ({ agent, run }: Attempt): unknown => agent.inputSchema.parse(upcast(agent, 'input', decode(run.input), run.schema_version)) as unknown
const payloadOf = ({ agent, run, item }: Attempt): unknown => agent.payloadSchema.parse(upcast(agent, 'payload', decode(item.payload), item.schema_version ?? run.schema_version)) as unknown

const chunkSize = 1_000

/** Items go in by key, so a split that dies goes on: what is there stays. Nothing is dispatched before the run is sealed. */
export async function runSplit(attempt: Attempt): Promise<KindOutcome> {
  const { ledger, failpoint } = attempt.parts
  const streamNo = await openSplitStream(ledger, attempt.holder)
  if (streamNo === null) return await splitOver(attempt)
  const append = async (seeds: readonly ItemSeed<unknown>[]): Promise<boolean> => {
    const answer = await appendItems(ledger, attempt.run.id, streamNo, encodeItems(attempt.agent, seeds), addedSchema(attempt.agent, attempt.run))
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
    if ((await compensateByPolicy(ledger, attempt.holder, `${tally.failed} of ${tally.total} items failed`)) === 'started') return { kind: 'closed' }
    attempt.park({ kind: 'lost' })
    return { kind: 'parked' }
  }
  const isHeld = hasFailed && onFailure === 'hold'
  if (!isHeld) await sendStaged(attempt)
  if (attempt.ending) return { kind: 'parked' }
  const finalized = isHeld || !attempt.agent.finalize ? undefined
    : await attempt.agent.finalize({ input: inputOf(attempt), run: { ...factsOf(attempt), tally }, tools: toolsOf(attempt), ctx: contextOf(attempt) })
  await attempt.quiet()
  await attempt.durable()
  if (attempt.ending || !(await discardUnasked(attempt))) return { kind: 'parked' }
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
