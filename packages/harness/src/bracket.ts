/**
 * One tool call, bracketed: intent durable, guard, execute, completion. Whatever comes back is exactly one of:
 * a result, `ToolFailed` (every send proved not applied, retries spent), `Rejected` (a person said no), or nothing for ever because the attempt was parked.
 */
import { decode, delayMs, encode, newId, NotApplied, recordError, Rejected, ToolFailed, waitMs, type ErrorRecord } from '@pawl/core'
import { addEvidence, rearmAction, type ActionRow, type Intent } from '@pawl/ledger'
import type { AnyTool } from '@pawl/tools'
import { keptCall, needsApproval, readyToKeep, rejectedBefore, request, stage, waitForYes } from './approval.ts'
import { isLedgerAway, never, type Attempt, type Ending, type MadeCall } from './attempt.ts'
import type { Call } from './call.ts'
import { isUnkept, keepResult } from './completion-of.ts'
import { executeSend, type Sent } from './execute.ts'
import { holdDiverged } from './hold-diverged.ts'
import { Parked, parked } from './parked.ts'
import { prepare } from './prepare.ts'
import { refuse, standing, toldIfUnsent, triesOf } from './refusal.ts'
import { bringLate, settleOne } from './settle.ts'
import { sendTransactional } from './transactional.ts'
import { startWatch, type Watch } from './watch.ts'

/** The agent's call. */
export function callTool(attempt: Attempt, tool: AnyTool, input: unknown, own?: string): Promise<unknown> {
  if (attempt.ending) return never()
  let call: Call
  try {
    call = prepare(attempt, tool, input, own)
  } catch (error) {
    return Promise.reject(error as Error)
  }
  return makeCall(attempt, call)
}

/** Also for undos, whose key is given. The same key twice in one attempt is one call. */
export function makeCall(attempt: Attempt, call: Call, run: (attempt: Attempt, call: Call) => Promise<unknown> = bracket): Promise<unknown> {
  const made = attempt.calls.get(call.key)
  if (made) {
    if (made.argsDigest === call.argsDigest) return made.answer
    attempt.park(conflict(call, made.argsDigest))
    return never()
  }
  const leave = attempt.enter(true)
  const entry: MadeCall = { argsDigest: call.argsDigest, isRefused: false, answer: never() }
  const left = (): void => {
    leave()
    attempt.trace.returned(call.key)
  }
  entry.answer = run(attempt, call).finally(left).then(
    (value) => (attempt.ending ? never() : value),
    (error: unknown) => {
      entry.isRefused = error instanceof ToolFailed || error instanceof Rejected
      if (!entry.isRefused && !attempt.ending) attempt.park(unexpected(error))
      return attempt.ending ? never() : Promise.reject(error as Error)
    })
  // An agent may drop a call's promise; its error must not end the process then.
  entry.answer.catch(() => {})
  attempt.calls.set(call.key, entry)
  return entry.answer
}

/** For callers of Pawl's own: where an agent gets no answer any more because the attempt is over, they go on, and have to look whether it is. */
export const callOrParked = (...made: Parameters<typeof makeCall>): Promise<unknown> => Promise.race([makeCall(...made), made[0].parked])

/** What went wrong inside Pawl is no answer of the call's: the agent is never given it, the attempt ends. */
function unexpected(error: unknown): Ending {
  if (isLedgerAway(error)) return { kind: 'interrupted' }
  return { kind: 'failure', error: recordError(error) }
}

async function bracket(attempt: Attempt, call: Call): Promise<unknown> {
  const { journal } = attempt
  const isWrite = call.tool.effect !== 'read'
  for (;;) {
    const decision = journal.ask({ key: call.key, tool: call.tool.name, isWrite, argsDigest: call.argsDigest })
    attempt.asked()
    switch (decision.kind) {
      case 'replay': return replay(attempt, call, decision.action)
      case 'replay_error': throw failedBefore(call, decision.action)
      case 'conflict': throw parked(attempt, conflict(call, decision.action.args_digest, decision.action))
      case 'diverged': await holdDiverged(attempt, call, decision.recorded); if (attempt.ending) throw new Parked(); continue
      case 'rejected': throw rejectedBefore(call, decision.action)
      case 'staged': return undefined
      case 'waiting': return await sendAgain(attempt, call, 1)
      case 'again': case 'fresh': {
        if (call.tool.stage && attempt.item.kind === 'work') {
          // The agent is given no result: there is none yet.
          const other = await stage(attempt, call)
          return other && (await meetOther(attempt, call, other))
        }
        const before = decision.kind === 'again' ? decision.action : undefined
        // Once a row has asked, the row decides.
        if ((before?.approval_id ?? null) === null && needsApproval(attempt, call)) return await sendApproved(attempt, call, 1)
        return before ? await sendAgain(attempt, call, triesOf(before) + 1) : await sendFirst(attempt, call)
      }
    }
  }
}

/** The recorded result; where only a marker of it could be kept, nothing goes on with that. */
function replay(attempt: Attempt, call: Call, action: ActionRow): unknown {
  if (call.tool.stage && attempt.item.kind === 'work') return undefined
  if (isUnkept(action.result)) throw parked(attempt, unkept(call, `its result could not be kept: ${action.result}`))
  return action.result === null ? undefined : decode(action.result)
}

const unkept = (call: Call, why: string) => ({ kind: 'blocked', reason: 'tool_output', detail: { tool: call.tool.name, key: call.key, why } }) as const

function failedBefore(call: Call, action: ActionRow): ToolFailed {
  const error = action.error === null ? undefined : (JSON.parse(action.error) as Partial<ErrorRecord>)
  return new ToolFailed(call.tool.name, call.key, error?.message ?? 'proved not applied')
}

function conflict(call: Call, recorded: string, action?: ActionRow) {
  return {
    kind: 'blocked', reason: 'conflict',
    detail: { tool: call.tool.name, key: call.key, recorded, attempted: call.argsDigest, status: action?.status ?? 'started' },
  } as const
}

async function sendFirst(attempt: Attempt, call: Call): Promise<unknown> {
  const { tool } = call
  attempt.trace.begin(call)
  await attempt.parts.failpoint('before-intent', { ...attempt.holder, tool: tool.name, key: call.key })
  if (attempt.ending) throw new Parked()
  const token = newId()
  const intended = startWatch()
  const intent: Intent = { ...keptCall(call), token }
  const answer = await toldIfUnsent(attempt, call.key, token, attempt.intent(intent))
  if (answer.outcome === 'fenced') throw new Parked()
  if (answer.outcome === 'exists') return await meetOther(attempt, call, answer.action)
  attempt.parts.log('debug', `intent ${tool.name}`, { ...attempt.place, action: answer.id })
  const action: ActionRow = {
    run_id: attempt.run.id, id: answer.id, order_no: answer.orderNo, item_seq: attempt.item.seq, key: call.key, tool: tool.name, tool_version: tool.version,
    effect: tool.effect, status: 'started', attempt: 1, epoch: attempt.item.epoch, token, sends: 1, refused: 0, args: call.args, args_digest: call.argsDigest,
    result: null, evidence: [], applied_evidence: null, error: null, undo: intent.undo, undoes: call.undoes, turn: call.turn ?? null, approval_id: null, staged_by: null, key_window_ms: null, settled_by: null, timeout_ms: tool.timeoutMs,
    settle_ms: tool.settleWindowMs, key_expires_at: tool.keyWindowMs === undefined ? null : new Date(Date.now() + tool.keyWindowMs).toISOString(), answerable_at: null, started_at: new Date().toISOString(), committed_at: null,
  }
  attempt.trace.intended(call.key, action)
  return await send(attempt, call, attempt.put(action), intended, 1)
}

/** A call the finalizer sends for an item that held it back. */
export const sendKept = (attempt: Attempt, call: Call): Promise<unknown> => callOrParked(attempt, call, (_, kept) => sendAgain(attempt, kept, 1))

/** Asked for; sent with the yes that is there already, or when a later attempt finds one. */
async function sendApproved(attempt: Attempt, call: Call, n: number): Promise<unknown> {
  attempt.trace.begin(call)
  await readyToKeep(attempt, call)
  const { outcome, action, approval } = await request(attempt, call)
  attempt.trace.mark(call.key, 'approval asked')
  if (outcome === 'given') return await sendAgain(attempt, call, n)
  if (outcome === 'waiting' && approval) return await waitForYes(attempt, approval.id)
  if (!action) throw parked(attempt, { kind: 'interrupted' })
  if (action.status === 'failed' && (action.item_seq === attempt.item.seq || action.applied_evidence !== null)) return await sendAgain(attempt, call, n)
  return await meetOther(attempt, call, isNotMade(action) ? { ...action, status: 'started' } : action)
}

const isNotMade = ({ status }: ActionRow): boolean => status === 'failed' || status === 'discarded'

/** Another item owns the key: its result is ours, or we wait for it, or (it failed for good) we take the key over. */
export async function meetOther(attempt: Attempt, call: Call, action: ActionRow): Promise<unknown> {
  if (action.args_digest !== call.argsDigest || action.tool !== call.tool.name) throw parked(attempt, conflict(call, action.args_digest, action))
  if (action.status === 'committed') {
    attempt.parts.log('info', `deduplicated: ${call.tool.name} was done by item ${action.item_seq}`, { ...attempt.place, action: action.id })
    return replay(attempt, call, action)
  }
  const isOwn = action.item_seq === attempt.item.seq
  if (action.status === 'rejected' && isOwn) throw rejectedBefore(call, action)
  // Held back by an item that may still fail: its end is waited for.
  if (action.status === 'staged' && !call.tool.stage) return undefined
  // The proof that came late says what became of it.
  if (isNotMade(action) && (!call.tool.stage || action.applied_evidence !== null)) return await sendAgain(attempt, call, 1)
  if (isNotMade(action) || action.status === 'staged' || action.status === 'started' || action.status === 'in_doubt' || action.status === 'awaiting_approval') throw parked(attempt, { kind: 'blocked', reason: 'key', detail: { key: call.key, tool: call.tool.name, owner: action.item_seq } })
  throw parked(attempt, conflict(call, action.args_digest, action))
}

/** Under the same key: a retry, what the guard stopped, or a takeover. `n` counts the sends that spend the tool's retries. */
async function sendAgain(attempt: Attempt, call: Call, n: number): Promise<unknown> {
  if (attempt.ending) throw new Parked()
  attempt.trace.begin(call)
  await attempt.durable()
  const intended = startWatch()
  const token = newId()
  const { outcome, action, history } = await toldIfUnsent(attempt, call.key, token,
    rearmAction(attempt.parts.ledger, attempt.holder, call.key, token, call.tool.version, marginMs(attempt, call.tool), call.tool, call.turn))
  attempt.parts.trust.see(history)
  if (outcome === 'fenced') throw parked(attempt, { kind: 'lost' })
  if (outcome === 'sent' && action) {
    attempt.trace.intended(call.key, action)
    return await send(attempt, call, attempt.put(action), intended, n)
  }
  if (outcome === 'taken' && action && action.item_seq !== attempt.item.seq) return await meetOther(attempt, call, isNotMade(action) ? { ...action, status: 'started' } : action)
  if (outcome === 'approval' && action && action.status !== 'started') return await sendApproved(attempt, call, n)
  if (action) return await afterUnknown(attempt, call, attempt.put(action), { since: attempt.begun, n })
  throw parked(attempt, { kind: 'interrupted' })
}

const marginMs = (attempt: Attempt, tool: AnyTool): number => attempt.parts.timings.sendWindowMs + tool.timeoutMs

async function send(attempt: Attempt, call: Call, action: ActionRow, intended: Watch, n: number): Promise<unknown> {
  const { failpoint } = attempt.parts
  const place = { ...attempt.holder, tool: call.tool.name, key: call.key }
  await failpoint('after-intent', place)
  await failpoint('before-send', place)
  const begunAt = performance.now()
  attempt.trace.mark(call.key, 'send')
  const sent = await attempt.trace.sending(call.key, () => (call.tool.effect === 'transactional'
    ? sendTransactional(attempt, call, action, intended)
    : executeSend(attempt, { tool: call.tool, key: call.key, input: call.input, attempt: action.attempt }, intended)))
  tellSent(attempt, call.key, sent, performance.now() - begunAt)
  // Where nothing was sent there is no answer.
  if (sent.kind !== 'unsent') await failpoint('after-answer', place)
  return await conclude(attempt, call, action, sent, intended, n)
}

/** Once per send, whatever comes of it: a call under way again is counted again. */
function tellSent(attempt: Attempt, key: string, { kind }: Sent, ms: number): void {
  attempt.trace.mark(key, kind)
  attempt.parts.observe('pawl_actions_total', 1, { agent: attempt.run.agent, outcome: kind })
  if (kind !== 'unsent') attempt.parts.observe('pawl_action_seconds', ms / 1_000)
}

async function conclude(attempt: Attempt, call: Call, action: ActionRow, sent: Sent, intended: Watch, n: number): Promise<unknown> {
  switch (sent.kind) {
    case 'returned': return await complete(attempt, call, action, sent.value, intended, n)
    case 'unsent': return await afterUnsent(attempt, call, action, sent.error, n)
    case 'refused': return await afterRefused(attempt, call, action, sent.error, intended, n)
    case 'unknown': {
      const late = sent.late && bringLate(attempt, call.tool, call.input, action.key, sent.late)
      return await afterUnknown(attempt, call, action, { since: intended, late, error: sent.error, n })
    }
  }
}

async function complete(attempt: Attempt, call: Call, action: ActionRow, value: unknown, intended: Watch, n: number): Promise<unknown> {
  const kept = keepResult(call.tool, call.input, value)
  if (kept.kind === 'misfit') {
    await addEvidence(attempt.parts.ledger, attempt.run.id, call.key, { entry: encode({ misfit: kept.why }, { what: 'evidence' }) })
    return await afterUnknown(attempt, call, action, { since: intended, error: { name: 'Misfit', message: kept.why }, n })
  }
  const written = call.tool.effect === 'transactional' ? undefined : attempt.completion({
    key: call.key, token: action.token ?? '', outcome: 'committed', result: kept.text, undo: kept.undo,
    error: kept.kind === 'unkept' ? JSON.stringify({ name: 'Unkept', message: kept.why, code: 'unkept' }) : null,
  })
  if (written) attempt.trace.completing(call.key, written)
  else attempt.trace.mark(call.key, 'completion')
  void written?.then(async (answer) => {
    if (answer.outcome !== 'recorded') await addEvidence(attempt.parts.ledger, attempt.run.id, call.key, { entry: '"answered after the item was lost"', result: kept.text, undo: kept.undo })
  }).catch(() => {})
  attempt.put({ ...action, status: 'committed', result: kept.text, undo: kept.undo ?? action.undo })
  if (attempt.ending) {
    // Nobody waits for the value; the item may only leave when the completion is durable.
    await written
    throw new Parked()
  }
  if (kept.kind === 'unkept') throw parked(attempt, unkept(call, kept.why))
  await attempt.parts.failpoint('after-completion', { ...attempt.holder, tool: call.tool.name, key: call.key })
  return kept.value
}

async function afterUnsent(attempt: Attempt, call: Call, action: ActionRow, error: ErrorRecord, n: number): Promise<unknown> {
  const status = await refuse(attempt, call, action, 'unsent', { ...error, tries: n - 1 })
  if (attempt.ending) throw new Parked()
  if (status === 'started') return await afterUnknown(attempt, call, attempt.put({ ...action, token: null }), { since: attempt.begun, n })
  // The window closed before the send: this process is too busy to send now, or, when that goes on, the tool takes too long before it sends.
  if (countUnsent(attempt, call.key) > mostUnsent) {
    if (action.attempt <= mostUnsentEver) throw parked(attempt, { kind: 'sleep', delayMs: attempt.parts.timings.sendWindowMs })
    throw parked(attempt, { kind: 'failure', error: { name: 'Unsent', message: `${call.tool.name} was not sent, ${action.attempt} times: ${error.message}. Prepare what takes long in a call of its own.` } })
  }
  return await sendAgain(attempt, call, n)
}

/** In one attempt. */
const mostUnsent = 4
/** Sends under one key, after which a window that closed once more is a failure of the item: nothing is tried for ever without a word. */
const mostUnsentEver = 10
function countUnsent(attempt: Attempt, key: string): number {
  const count = (attempt.unsent.get(key) ?? 0) + 1
  attempt.unsent.set(key, count)
  return count
}

/** Until the retries are spent the agent was told nothing, so what is recorded meanwhile is `unsent`: a crash sends again. */
async function afterRefused(attempt: Attempt, call: Call, action: ActionRow, refusal: NotApplied, intended: Watch, n: number): Promise<unknown> {
  const { retry } = call.tool
  const isSpent = !refusal.rateLimited && n >= retry.attempts
  const refused = recordError(refusal)
  // What the agent is told is what is recorded: it may pass the words on, and on replay they must be the same.
  const error = isSpent ? { ...refused, message: `${call.tool.name} was refused ${n} times, last: ${refused.message}` } : refused
  const status = await refuse(attempt, call, action, 'refused',
    isSpent ? { ...error, ...standing(attempt) } : { ...error, code: 'unsent', tries: refusal.rateLimited ? n - 1 : n })
  if (status === 'started') return await afterUnknown(attempt, call, attempt.put({ ...action, token: null }), { since: intended, error, n })
  if (attempt.ending) throw new Parked()
  if (isSpent) throw new ToolFailed(call.tool.name, call.key, error.message)
  const pauseMs = Math.max(refusal.retryAfterMs ?? 0, delayMs(n, retry))
  if (pauseMs > longestPauseMs) throw parked(attempt, { kind: 'sleep', delayMs: pauseMs })
  await waitMs(pauseMs, attempt.signal)
  return await sendAgain(attempt, call, refusal.rateLimited ? n : n + 1)
}

/** Longer pauses give the worker back. */
const longestPauseMs = 2_000

interface Unknown {
  /** Nobody's send begins later than the send window after this. */
  readonly since: Watch
  readonly late?: Promise<boolean> | undefined
  readonly error?: ErrorRecord
  readonly n: number
}

/** Nobody knows whether it happened: found out now, by this very attempt. */
async function afterUnknown(attempt: Attempt, call: Call, action: ActionRow, { since, late, error, n }: Unknown): Promise<unknown> {
  attempt.parts.log('warn', `unsettled: ${call.tool.name}${error ? ` (${error.message})` : ''}`, { ...attempt.place, action: action.id })
  const { effect } = call.tool
  // A read without an answer has had no effect: it is retried, and in the end thrown, like one that was refused.
  if (effect === 'read' && action.token !== null && error) return await afterRefused(attempt, call, action, new NotApplied(error.message), since, n)
  const settled = await settleOne(attempt, action, call.tool, since, { isForwardAllowed: attempt.item.kind !== 'settle', late })
  if (settled.kind === 'parked') throw new Parked()
  if (settled.kind === 'applied') {
    if (settled.action.status !== 'committed') throw parked(attempt, conflict(call, settled.action.args_digest, settled.action))
    return replay(attempt, call, settled.action)
  }
  if (attempt.ending) throw new Parked()
  if (effect !== 'transactional') return await sendAgain(attempt, call, 1)
  if (n >= call.tool.retry.attempts) return await giveUp(attempt, call, error ?? { name: 'Error', message: 'no answer' })
  await waitMs(delayMs(n, call.tool.retry), attempt.signal)
  return await sendAgain(attempt, call, n + 1)
}

/** A transaction that could not be committed, as often as it may be tried: the action keeps the error, so that it replays as the same error. */
async function giveUp(attempt: Attempt, call: Call, error: ErrorRecord): Promise<never> {
  const { outcome, action } = await rearmAction(attempt.parts.ledger, attempt.holder, call.key, newId(), call.tool.version, 0)
  if (outcome !== 'sent' || !action) throw parked(attempt, { kind: outcome === 'fenced' ? 'lost' : 'interrupted' })
  await refuse(attempt, call, attempt.put(action), 'refused', { ...error, ...standing(attempt) })
  throw new ToolFailed(call.tool.name, call.key, error.message)
}
