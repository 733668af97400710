/**
 * Finds out what became of one unsettled action and records it: evidence, a call under the same key, verify, or a person.
 * A wait before verify or a re-call is measured from `since` on this process's own clock, long enough that no late send of an
 * earlier holder can still follow; the item keeps its lease meanwhile and gives its slot back.
 */
import { decode, delayMs, limits, newId, recordError, waitMs, type RetryPolicy } from '@pawl/core'
import { addEvidence, rearmAction, readAction, settleAction, type ActionRow } from '@pawl/ledger'
import { createGuardedFetch, type AnyTool, type Verdict } from '@pawl/tools'
import type { Attempt } from './attempt.ts'
import { isUnkept, keepResult, undoOf } from './completion-of.ts'
import { executeSend, type Sent } from './execute.ts'
import { tellRefused, toldIfUnsent } from './refusal.ts'
import { planSettle } from './settle-plan.ts'
import { startWatch, type Watch } from './watch.ts'

export type Settled =
  | { readonly kind: 'applied'; readonly action: ActionRow }
  | { readonly kind: 'not_applied'; readonly action: ActionRow }
  | { readonly kind: 'parked' }

export interface SettleOptions {
  readonly isForwardAllowed: boolean
  /** The send under way in this process: true once its answer is in the ledger as evidence. */
  readonly late?: Promise<boolean> | undefined
}

interface Job {
  readonly attempt: Attempt
  readonly tool: AnyTool | undefined
  readonly options: SettleOptions
  /** No send that nobody knows about began later than the send window after this. */
  since: Watch
  action: ActionRow
  isKeyExpired: boolean
  tries: number
  late: Promise<boolean> | undefined
}

/** @param since when no earlier holder could write an intent any more: the answered claim, or this process's own send. */
export async function settleOne(attempt: Attempt, action: ActionRow, tool: AnyTool | undefined, since: Watch, options: SettleOptions): Promise<Settled> {
  const told = attempt.trace.settling(action)
  const settled = await findOut(attempt, action, tool, since, options)
  told(settled.kind)
  attempt.parts.observe('pawl_settled_total', 1, { agent: attempt.run.agent, outcome: settled.kind })
  return settled
}

async function findOut(attempt: Attempt, action: ActionRow, tool: AnyTool | undefined, since: Watch, options: SettleOptions): Promise<Settled> {
  const job: Job = { attempt, tool, options, since, action, isKeyExpired: false, tries: 0, late: options.late }
  await attempt.parts.failpoint('before-settle', { ...attempt.holder, tool: action.tool, key: action.key })
  for (;;) {
    if (attempt.ending) return { kind: 'parked' }
    const done = statusOf(job.action) ?? (await settleStep(job))
    if (done) return done
  }
}

function statusOf(action: ActionRow): Settled | undefined {
  if (action.status === 'started' || action.status === 'in_doubt') return undefined
  // The proof came after somebody had said that it did not happen.
  if (action.status === 'failed' && action.applied_evidence !== null) return undefined
  return { kind: action.status === 'failed' ? 'not_applied' : 'applied', action }
}

async function settleStep(job: Job): Promise<Settled | undefined> {
  const { attempt, action, tool } = job
  const plan = planSettle(action, tool, { isForwardAllowed: job.options.isForwardAllowed, isKeyExpired: job.isKeyExpired, isExhausted: job.tries >= limits.verifyAttempts })
  switch (plan.kind) {
    case 'drop': return await write(job, { verdict: 'not_applied', by: 'pawl' })
    case 'evidence': return await write(job, { verdict: 'applied', by: 'evidence', undo: undoFromEvidence(job) })
    case 'ask': return await ask(job, plan.why)
    case 'verify': return await verify(job)
    case 'recall': {
      if (plan.waits && !(await waitOut(job))) return undefined
      if (job.tries > 0 && !(await waitSlotless(attempt, delayMs(job.tries, again(attempt)), job.late))) return undefined
      return await recall(job)
    }
  }
}

const again = (attempt: Attempt): RetryPolicy => ({ attempts: limits.verifyAttempts, firstDelayMs: attempt.parts.timings.settleAgainMs, maxDelayMs: 30_000, backoff: 'exponential' })

/** The time in which a send of an earlier holder may still begin, run and become visible. */
export function doubtMs(attempt: Attempt, action: ActionRow): number {
  return attempt.parts.timings.sendWindowMs + action.timeout_ms + action.settle_ms
}

/** False: something changed meanwhile (a late answer, the attempt's end); look again. */
async function waitOut(job: Job): Promise<boolean> {
  const leftMs = doubtMs(job.attempt, job.action) - job.since.surelyElapsedMs()
  if (leftMs <= 0) return true
  const isUndisturbed = await waitSlotless(job.attempt, leftMs, job.late)
  const fresh = await readAction(job.attempt.parts.ledger, job.attempt.run.id, job.action.key)
  if (fresh) job.action = job.attempt.put(fresh)
  return isUndisturbed && job.action.status === 'started' && job.action.applied_evidence === null
}

async function waitSlotless(attempt: Attempt, ms: number, late: Promise<boolean> | undefined): Promise<boolean> {
  const answered = new AbortController()
  void late?.then((isProof) => { if (isProof) answered.abort() })
  await attempt.waitElsewhere(waitMs(ms, AbortSignal.any([attempt.signal, answered.signal])))
  return !attempt.ending && !answered.signal.aborted
}

async function write(job: Job, found: Parameters<typeof settleAction>[3]): Promise<Settled | undefined> {
  const row = await settleAction(job.attempt.parts.ledger, job.attempt.holder, job.action.key, found)
  if (!row) {
    job.attempt.park({ kind: 'lost' })
    return { kind: 'parked' }
  }
  job.action = job.attempt.put(row)
  return statusOf(row)
}

/** Evidence brings a result; what undoes the call follows from it. */
function undoFromEvidence({ action, tool }: Job): string | null {
  return tool && action.applied_evidence !== null && !isUnkept(action.applied_evidence) ? undoOf(tool, decode(action.args), decode(action.applied_evidence)) : null
}

async function ask(job: Job, why: string): Promise<Settled> {
  const settled = await write(job, { verdict: 'in_doubt', by: 'pawl', waitMs: Math.max(0, doubtMs(job.attempt, job.action) - job.since.surelyElapsedMs()) })
  if (settled) return settled
  job.attempt.park({ kind: 'blocked', reason: 'in_doubt', detail: { action: job.action.id, tool: job.action.tool, why } })
  return { kind: 'parked' }
}

async function verify(job: Job): Promise<Settled | undefined> {
  if (!(await waitOut(job))) return undefined
  if (job.tries > 0 && !(await waitSlotless(job.attempt, delayMs(job.tries, again(job.attempt)), job.late))) return undefined
  const verdict = await askTool(job)
  if (verdict.verdict === 'notApplied') return await write(job, { verdict: 'not_applied', by: 'verify' })
  if (verdict.verdict === 'applied' && job.tool) {
    const kept = keepResult(job.tool, decode(job.action.args), verdict.result)
    if (kept.kind !== 'misfit') return await write(job, { verdict: 'applied', result: kept.text, undo: kept.undo, by: 'verify' })
  }
  job.tries++
  return undefined
}

async function askTool(job: Job): Promise<Verdict<unknown>> {
  const { action, tool, attempt } = job
  const deadline = AbortSignal.timeout(action.timeout_ms)
  try {
    const asked = tool?.verify?.(decode(action.args), {
      key: action.key, evidence: action.evidence.map(decode), signal: deadline, fetch: createGuardedFetch({ guard: () => {}, signal: deadline }),
    })
    const timeout = waitMs(action.timeout_ms).then((): Verdict<unknown> => ({ verdict: 'unknown', reason: 'verify gave no answer in time' }))
    return (await Promise.race([asked, timeout])) ?? { verdict: 'unknown' }
  } catch (error) {
    attempt.parts.log('warn', `verify of ${action.tool} failed: ${recordError(error).message}`, { ...attempt.place, action: action.id })
    return { verdict: 'unknown' }
  }
}

/** Calls again under the same key, with the recorded args. */
async function recall(job: Job): Promise<Settled | undefined> {
  const { attempt, tool } = job
  if (!tool) return undefined
  await attempt.durable()
  const intended = startWatch()
  const margin = attempt.parts.timings.sendWindowMs + tool.timeoutMs
  const token = newId()
  const { outcome, action, history } = await toldIfUnsent(attempt, job.action.key, token,
    rearmAction(attempt.parts.ledger, attempt.holder, job.action.key, token, tool.version, margin, tool))
  attempt.parts.trust.see(history)
  if (action) job.action = attempt.put(action)
  if (outcome === 'fenced') {
    attempt.park({ kind: 'lost' })
    return { kind: 'parked' }
  }
  // Without a yes that still holds it is not sent again: verified, or a person is asked.
  if (outcome === 'key_expired' || outcome === 'approval') job.isKeyExpired = true
  if (outcome !== 'sent') return undefined
  const input = decode(job.action.args)
  const sent = await executeSend(attempt, { tool, key: job.action.key, input, attempt: job.action.attempt }, intended)
  attempt.parts.observe('pawl_actions_total', 1, { agent: attempt.run.agent, outcome: sent.kind })
  // What this send did may be known to nobody: the next wait covers it too.
  if (sent.kind === 'unknown') job.since = intended
  return await afterRecall(job, tool, input, sent)
}

async function afterRecall(job: Job, tool: AnyTool, input: unknown, sent: Sent): Promise<Settled | undefined> {
  const { attempt } = job
  if (sent.kind === 'returned') {
    const kept = keepResult(tool, input, sent.value)
    if (kept.kind !== 'misfit') {
      const settled = await write(job, { verdict: 'applied', result: kept.text, undo: kept.undo, by: 'recall' })
      if (settled?.kind === 'parked') await bringLate(attempt, tool, input, job.action.key, Promise.resolve(sent))
      return settled
    }
  }
  if (sent.kind === 'unsent' || sent.kind === 'refused') {
    // Speaks for this send only; the row stays unsettled unless every send under the key was proved not applied.
    const error = { ...(sent.kind === 'unsent' ? sent.error : recordError(sent.error)), code: 'unsent' }
    const answer = await attempt.completion({ key: job.action.key, token: job.action.token ?? '', outcome: sent.kind, result: null, undo: null, error: JSON.stringify(error) })
    if (answer.outcome !== 'recorded') {
      await tellRefused(attempt, job.action.key, job.action.token, error)
      return { kind: 'parked' }
    }
    job.action = attempt.put({ ...job.action, token: null, refused: job.action.refused + 1, status: answer.status === 'started' ? 'started' : 'failed' })
    if (sent.kind === 'refused' && sent.error.retryAfterMs !== undefined) await waitSlotless(attempt, sent.error.retryAfterMs, undefined)
    if (sent.kind === 'refused' && sent.error.rateLimited) job.tries--
  }
  if (sent.kind === 'unknown' && sent.late) job.late = bringLate(attempt, tool, input, job.action.key, sent.late)
  job.tries++
  return await afterTries(job)
}

/** Trying to find out costs the item a failure and a pause, not its place: a receiver that is down for an hour needs no person. */
async function afterTries(job: Job): Promise<Settled | undefined> {
  const { attempt } = job
  const failuresLeft = (attempt.run.policy.maxFailures ?? attempt.agent.policy?.maxFailures ?? limits.maxFailures) - attempt.item.failures
  if (job.tries < limits.verifyAttempts || failuresLeft <= 1 || attempt.item.kind !== 'work') return undefined
  attempt.park({ kind: 'failure', error: { name: 'Unsettled', message: `${job.action.tool} could not be settled yet` } })
  return { kind: 'parked' }
}

/** An answer that comes after its deadline, or after the item was lost, is worth having: it settles the call without anyone. True: it is in the ledger. */
export async function bringLate(attempt: Attempt, tool: AnyTool, input: unknown, key: string, late: Promise<Sent>): Promise<boolean> {
  const sent = await late
  if (sent.kind !== 'returned') return false
  try {
    const kept = keepResult(tool, input, sent.value)
    if (kept.kind === 'misfit') return false
    await addEvidence(attempt.parts.ledger, attempt.run.id, key, { entry: '"answered after its deadline"', result: kept.text, undo: kept.undo })
    return true
  } catch (error) {
    attempt.parts.log('warn', `a late answer of ${tool.name} could not be kept: ${recordError(error).message}`, attempt.place)
    return false
  }
}
