/**
 * A run brought in as a stream: chunks of items, each durable before the next is read, and one statement that seals it. Before the seal nothing is
 * dispatched; a stream that fails is dropped with all it brought. One whose process died is taken over by the same key once it is silent for long enough.
 */
import { canonical, limits, PawlError } from '@pawl/core'
import { appendItems, dropStream, getRun, openStream, readRunState, sealRun, startRun, type Ledger, type NewRun } from '@pawl/ledger'
import type { Hash } from 'node:crypto'
import { chooseAgent, type AnyAgentContract, type ChosenAgent } from './agents.ts'
import { beginDigest, checkKey, digestItem, duplicateKeys, encodeItem, tooManyItems, type EncodedItem } from './check-request.ts'
import type { ItemSeed, StreamHeader } from './contract.ts'
import type { Parts } from './parts.ts'
import { idempotencyConflict, newRun, streamInProgress } from './start-run.ts'
import { traceStart } from './trace-start.ts'
import type { StartedRun } from './wire.ts'

const itemsPerChunk = 1_000
const bytesPerChunk = 4_000_000

type Items = AsyncIterable<ItemSeed> | Iterable<ItemSeed>
type LocatedItem = EncodedItem & { readonly where: string }
type Place = { readonly kind: 'open'; readonly runId: string; readonly streamNo: number } | { readonly kind: 'sealed'; readonly runId: string; readonly digest: string }

export const startRunFromStream = (parts: Parts, header: StreamHeader, items: Items, idempotencyKey: string | undefined): Promise<StartedRun> =>
  traceStart({ agent: header.agent, kind: 'here', traceParent: parts.traceParent, onStarted: parts.onStarted }, (traceParent) => start(parts, header, items, idempotencyKey, traceParent))

async function start(parts: Parts, header: StreamHeader, items: Items, idempotencyKey: string | undefined, traceParent: string | null): Promise<StartedRun> {
  const chosen = chooseAgent(parts.agents, header.agent, header.version)
  const key = checkKey(idempotencyKey)
  const hash = beginDigest({ agent: chosen.name, version: header.version, input: header.input, labels: header.labels, policy: header.policy })
  const place = await findPlace(parts, chosen, header, key, traceParent)
  if (place.kind === 'sealed') {
    for await (const item of items) digestItem(hash, item)
    if (hash.digest('hex') !== place.digest) throw idempotencyConflict(key, place.runId)
    return { id: place.runId, isNew: false }
  }
  await bring(parts, place, chosen.contract, items, hash)
  await parts.ring(place.runId)
  return { id: place.runId, isNew: true }
}

/** A new run, a broken stream's run to continue, or the finished one the key names. */
async function findPlace(parts: Parts, chosen: ChosenAgent, header: StreamHeader, key: string | null, traceParent: string | null): Promise<Place> {
  for (;;) {
    const run = newRun(parts, chosen, { input: header.input, labels: header.labels, policy: header.policy })
    const started = await startRun(parts.ledger, { ...run, key, traceParent, digest: null, split: false })
    const runId = started.run_id
    if (started.outcome === 'exists' && started.digest !== null) return { kind: 'sealed', runId, digest: started.digest }
    if (started.outcome === 'exists' && await isOutdated(parts.ledger, runId, run, header, key)) {
      const outdated = await openStream(parts.ledger, runId, parts.streamAliveMs)
      if (outdated === 0) throw streamInProgress(runId)
      if (outdated !== null) await dropStream(parts.ledger, runId, outdated)
      continue
    }
    const streamNo = await openStream(parts.ledger, runId, started.outcome === 'created' ? 0 : parts.streamAliveMs)
    if (streamNo === 0) throw streamInProgress(runId)
    if (streamNo !== null) return { kind: 'open', runId, streamNo }
    const state = await readRunState(parts.ledger, runId, null)
    if (state?.status === 'cancelled') throw new PawlError('WRONG_STATE', `Run ${runId}, which this Idempotency-Key names, was cancelled before its stream was complete. Use a new key.`, 'tell', { runId, state: state.status })
  }
}

/** True: the incomplete run was begun by another version of the agent and has to begin anew. Throws when it was another request. */
async function isOutdated(ledger: Ledger, runId: string, run: Omit<NewRun, 'key' | 'split' | 'digest'>, header: StreamHeader, key: string | null): Promise<boolean> {
  const before = await getRun(ledger, runId, null)
  if (before === undefined) return false
  if (before.agent === run.agent && before.agentVersion !== run.agentVersion && header.version === undefined) return true
  const isSame = before.agent === run.agent && before.agentVersion === run.agentVersion && before.input === run.input && sameJson(before.labels, run.labels) && sameJson(before.policy, run.policy)
  if (!isSame) throw idempotencyConflict(key, runId)
  return false
}

const sameJson = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b)

async function bring(parts: Parts, place: Place & { kind: 'open' }, contract: AnyAgentContract | undefined, items: Items, hash: Hash): Promise<void> {
  const { ledger, streamAliveMs } = parts
  const { runId, streamNo } = place
  let beat: Promise<unknown> = Promise.resolve()
  const beats = setInterval(() => { beat = appendItems(ledger, runId, streamNo, []).catch(() => undefined) }, streamAliveMs / 3)
  try {
    let n = 0
    let bytes = 0
    let chunk: LocatedItem[] = []
    for await (const item of items) {
      n += 1
      if (n > limits.itemsPerRun) throw tooManyItems()
      const encoded = encodeItem(contract, item, item.where ?? `Item ${n}`)
      digestItem(hash, item)
      chunk.push({ ...encoded, where: item.where ?? `Item ${n}` })
      bytes += encoded.payload.length
      if (chunk.length < itemsPerChunk && bytes < bytesPerChunk) continue
      await append(ledger, runId, streamNo, chunk)
      chunk = []
      bytes = 0
    }
    if (chunk.length > 0) await append(ledger, runId, streamNo, chunk)
    await seal(ledger, runId, streamNo, hash.digest('hex'))
  } catch (error) {
    clearInterval(beats)
    await beat
    await dropStream(ledger, runId, streamNo).catch(() => undefined)
    throw error
  } finally {
    clearInterval(beats)
  }
}

async function append(ledger: Ledger, runId: string, streamNo: number, chunk: readonly LocatedItem[]): Promise<void> {
  const { outcome, duplicates } = await appendItems(ledger, runId, streamNo, chunk)
  if (outcome === 'closed') throw takenOver(runId)
  if (outcome === 'added') return
  const last = chunk.findLast((item) => item.key === duplicates?.[0])
  throw duplicateKeys(duplicates ?? [], last === undefined ? '' : `${last.where}: `)
}

/** A seal whose answer was lost is written again; if that finds the stream closed, the first one did it. */
async function seal(ledger: Ledger, runId: string, streamNo: number, digest: string): Promise<void> {
  const first = await sealRun(ledger, runId, streamNo, digest).catch((error: unknown) => {
    if (error instanceof PawlError && error.code === 'LEDGER_UNREACHABLE') return undefined
    throw error
  })
  if (first?.outcome === 'sealed') return
  if (first === undefined) {
    if ((await sealRun(ledger, runId, streamNo, digest)).outcome === 'sealed') return
    const state = await readRunState(ledger, runId, null)
    if (state !== undefined && state.status !== 'splitting' && state.status !== 'cancelled') return
  }
  throw takenOver(runId)
}

const takenOver = (runId: string): PawlError =>
  new PawlError('STREAM_CLOSED', `The stream of run ${runId} was cancelled, or taken over by another request with the same Idempotency-Key. Look at the run, or send the whole request again.`, 'retry', { runId })
