/** Starts a run in one transaction: it is there with all its items, or not at all. */
import { newRunId, PawlError } from '@pawl/core'
import { readRunState, startRun as startSplitRun, startWholeRun, withTransaction, type Ledger, type NewRun, type OpenTransaction, type WholeStart } from '@pawl/ledger'
import { pinsOf } from '@pawl/tools'
import { chooseAgent, type AnyAgentContract, type ChosenAgent } from './agents.ts'
import { beginDigest, checkKey, checkLabels, digestItem, duplicateKeys, encodeInput, encodeItems, mergePolicy, type EncodedItem } from './check-request.ts'
import type { StartOptions } from './contract.ts'
import type { Parts } from './parts.ts'
import { traceStart } from './trace-start.ts'
import type { StartedRun } from './wire.ts'

const transactionMs = 60_000

export const startRun = (parts: Parts, agent: AnyAgentContract | string, input: unknown, options: StartOptions): Promise<StartedRun> =>
  traceStart({ agent: typeof agent === 'string' ? agent : agent.name, kind: 'here', traceParent: parts.traceParent, onStarted: parts.onStarted }, (traceParent) => start(parts, agent, input, options, traceParent))

async function start(parts: Parts, agent: AnyAgentContract | string, input: unknown, options: StartOptions, traceParent: string | null): Promise<StartedRun> {
  const chosen = chooseAgent(parts.agents, agent, options.version)
  const key = checkKey(options.idempotencyKey)
  if (options.items === undefined && chosen.contract !== undefined && chosen.contract.split === undefined) {
    throw new PawlError('ITEMS_NEEDED', `Agent "${chosen.name}" has no split, so its items must come with the request: pass items (an empty list for none).`, 'tell', { agent: chosen.name })
  }
  const run = {
    ...newRun(parts, chosen, { input, labels: options.labels, policy: options.policy }),
    key, traceParent, split: options.items === undefined,
  }
  const items = options.items === undefined ? null : encodeItems(chosen.contract, options.items)
  const version = typeof agent === 'string' ? options.version : agent.version
  const hash = beginDigest({ agent: chosen.name, version, input, labels: options.labels, policy: options.policy })
  for (const item of options.items ?? []) digestItem(hash, item)
  if (items === null) hash.update('\nsplit')
  const digest = hash.digest('hex')
  const started = await write(parts.ledger, { ...run, digest }, items, options.tx)
  const answer = judge(started, key, digest)
  // Inside the caller's transaction nothing is visible yet; the sweep rings when it has committed.
  if (options.tx === undefined) await parts.ring(answer.id)
  return answer
}

/** The run's row from a checked request; id, namespace and actor filled in. */
export function newRun(parts: Parts, agent: ChosenAgent, request: Pick<StartOptions, 'labels' | 'policy'> & { input: unknown }): Omit<NewRun, 'key' | 'split' | 'digest'> {
  return {
    id: newRunId(), namespace: parts.namespace, agent: agent.name, ...(agent.contract ? pinsOf(agent.contract) : unknownPins(agent.version)),
    input: encodeInput(agent, request.input), labels: checkLabels(request.labels), policy: mergePolicy(agent, request.policy), createdBy: parts.actor,
  }
}

/** Whoever claims first says them; schema version 0 is "not said". */
const unknownPins = (agentVersion: string) => ({ agentVersion, modelVersion: null, promptVersion: null, schemaVersion: 0, lockDigest: null, tools: null })

async function write(ledger: Ledger, run: NewRun, items: readonly EncodedItem[] | null, tx: OpenTransaction | undefined): Promise<WholeStart> {
  if (tx !== undefined) return await startWholeRun(tx, run, items)
  if (items === null) {
    const { outcome, run_id: runId, digest } = await startSplitRun(ledger, run)
    return { outcome, runId, digest, duplicates: [] }
  }
  const whole = () => withTransaction(ledger, { timeoutMs: transactionMs }, (own) => startWholeRun({ query: (text, values) => own.query(text, values) }, run, items))
  try {
    return await whole()
  } catch (error) {
    if (!(error instanceof PawlError && error.code === 'COMMIT_UNKNOWN')) throw error
    if (run.key !== null) return await whole()
    if ((await readRunState(ledger, run.id, null)) !== undefined) return { outcome: 'created', runId: run.id, digest: run.digest, duplicates: [] }
    throw error
  }
}

function judge(started: WholeStart, key: string | null, digest: string): StartedRun {
  if (started.outcome === 'duplicate') throw duplicateKeys(started.duplicates)
  if (started.outcome === 'exists' && started.digest === null) throw streamInProgress(started.runId)
  if (started.outcome === 'exists' && started.digest !== digest) throw idempotencyConflict(key, started.runId)
  return { id: started.runId, isNew: started.outcome === 'created' }
}

export const idempotencyConflict = (key: string | null, runId: string): PawlError =>
  new PawlError('IDEMPOTENCY_CONFLICT', `The Idempotency-Key ${JSON.stringify(key)} was used for another request, which is run ${runId}. Send the same request again, or use a new key.`, 'tell', { runId })

export const streamInProgress = (runId: string): PawlError =>
  new PawlError('STREAM_IN_PROGRESS', `Another stream with this Idempotency-Key is bringing items of run ${runId} right now. Wait until it has ended, then send the whole request again.`, 'retry', { runId })
