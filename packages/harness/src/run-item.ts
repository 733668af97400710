/**
 * The pipe, after the claim: settle, run the item's kind, finish. Everything that ends an attempt passes through here once,
 * and what the ledger refuses is never reported as done.
 */
import { delayMs, encode, itemRetry, limits, recordError } from '@pawl/core'
import { blockItem } from '@pawl/ledger'
import { discardUnasked } from './approval.ts'
import { isLedgerAway, type Attempt, type Ending } from './attempt.ts'
import { runCompensate, runSettle } from './compensate.ts'
import type { KindOutcome } from './kind-outcome.ts'
import { runFinalize, runSplit, runWork } from './kinds.ts'
import { settleOne } from './settle.ts'
import { toolByName } from './tool-by-name.ts'

/** What became of an attempt. Only after the ledger has it. */
export type Verdict = 'done' | 'failed' | 'again' | 'blocked' | 'interrupted' | 'lost' | 'closed'

const kinds = { work: runWork, split: runSplit, finalize: runFinalize, compensate: runCompensate, settle: runSettle } as const

export async function runItem(attempt: Attempt): Promise<Verdict> {
  await attempt.parts.failpoint('after-claim', attempt.holder)
  let outcome: KindOutcome
  try {
    outcome = await raceParked(attempt, settleJournal(attempt).then(async (isSettled) => (isSettled ? await attempt.trace.during(() => kinds[attempt.item.kind](attempt)) : parkedOutcome)))
  } catch (thrown) {
    await attempt.quiet()
    if (attempt.ending) return await endParked(attempt, attempt.ending)
    return await fail(attempt, thrown)
  }
  await attempt.quiet()
  if (attempt.ending) return await endParked(attempt, attempt.ending)
  if (outcome.kind === 'closed') return 'closed'
  return await finish(attempt, outcome)
}

const parkedOutcome: KindOutcome = { kind: 'parked' }

async function raceParked(attempt: Attempt, running: Promise<KindOutcome>): Promise<KindOutcome> {
  const outcome = await Promise.race([running, attempt.parked.then(() => parkedOutcome)])
  running.catch(() => {})
  return outcome
}

/** Every unsettled action of the item, before any new decision. False: parked. */
async function settleJournal(attempt: Attempt): Promise<boolean> {
  const doubtful = attempt.journal.actions().find((action) => action.status === 'in_doubt')
  if (doubtful) {
    attempt.park({ kind: 'blocked', reason: 'in_doubt', detail: { action: doubtful.id, tool: doubtful.tool } })
    return false
  }
  const leave = attempt.enter()
  try {
    const started = attempt.journal.actions().filter((action) => action.status === 'started')
    const settled = await Promise.all(started.map((action) =>
      settleOne(attempt, action, toolByName(attempt.agent, action.tool, action.tool_version), attempt.begun, { isForwardAllowed: true })))
    if (!settled.every((one) => one.kind !== 'parked')) return false
    // A person gave up on a call of an item that had others unsettled; now that these are settled, it fails.
    if (attempt.item.kind !== 'work' || started.length === 0 || !attempt.journal.actions().some((action) => action.status === 'abandoned')) return true
    attempt.park({ kind: 'failure', isFinal: true, error: { name: 'Abandoned', message: 'A person gave up finding out whether a call of this item happened.' } })
    return false
  } finally {
    leave()
  }
}

async function finish(attempt: Attempt, outcome: KindOutcome): Promise<Verdict> {
  const kept = outcome.kind === 'done' ? outcome.outcome : undefined
  let result: string | null
  try {
    result = kept?.result === undefined ? null : encode(kept.result, { what: 'result of run', maxBytes: limits.resultBytes })
  } catch (thrown) {
    return await fail(attempt, thrown)
  }
  if (!(await discardUnasked(attempt))) return 'lost'
  await attempt.parts.failpoint('before-finish', attempt.holder)
  const answer = await attempt.parts.writer.finish(attempt.holder, attempt.item.epoch, { status: 'done', result, resultRef: kept?.resultRef ?? null })
  await attempt.parts.failpoint('after-finish', attempt.holder)
  if (answer.outcome === 'finished') return 'done'
  if (answer.outcome === 'fenced') return 'lost'
  return await endParked(attempt, { kind: 'interrupted' })
}

/** An error of the agent's own, or of a tool it did not catch. */
async function fail(attempt: Attempt, thrown: unknown): Promise<Verdict> {
  const error = recordError(thrown)
  if (isLedgerAway(thrown)) return await endParked(attempt, { kind: 'interrupted' })
  // Its message may hold what the agent had in hand; the ledger keeps it for those who may look, a log is read by others.
  attempt.parts.log('warn', `item failed: ${error.name}${error.code === undefined ? '' : ` (${error.code})`}; the item has the message`, attempt.place)
  return await endParked(attempt, { kind: 'failure', error })
}

async function endParked(attempt: Attempt, ending: Ending): Promise<Verdict> {
  if (ending.kind === 'lost') return 'lost'
  await attempt.durable()
  const { writer, ledger } = attempt.parts
  if (attempt.isLost) return 'lost'
  switch (ending.kind) {
    case 'blocked': {
      const status = await blockItem(ledger, attempt.holder, ending.reason, isForPerson(ending) ? { ...ending.detail, ...attempt.waitsFor() } : ending.detail)
      return status === null ? 'lost' : status === 'blocked' ? 'blocked' : 'again'
    }
    case 'interrupted': case 'sleep': {
      const answer = await writer.finish(attempt.holder, attempt.item.epoch, { status: 'pending', delayMs: ending.kind === 'sleep' ? ending.delayMs : 0 })
      return answer.outcome === 'finished' ? 'interrupted' : 'lost'
    }
    case 'failure': return await endFailed(attempt, ending)
  }
}

/** Whichever of a yes and an answer came to park first: either wakes the item. */
const isForPerson = ({ reason }: Extract<Ending, { kind: 'blocked' }>): boolean => reason === 'approval' || reason === 'question'

async function endFailed(attempt: Attempt, ending: Extract<Ending, { kind: 'failure' }>): Promise<Verdict> {
  const failures = attempt.item.failures + 1
  const most = attempt.run.policy.maxFailures ?? attempt.agent.policy?.maxFailures ?? limits.maxFailures
  const isSpent = (failures >= most || ending.isFinal === true) && attempt.item.kind !== 'compensate' && attempt.item.kind !== 'settle'
  if (isSpent && !(await discardUnasked(attempt, true))) return 'lost'
  const answer = await attempt.parts.writer.finish(attempt.holder, attempt.item.epoch, {
    status: isSpent ? 'failed' : 'pending', isFailure: true, error: JSON.stringify(ending.error), delayMs: delayMs(failures, itemRetry),
  })
  if (answer.outcome === 'finished') return isSpent ? 'failed' : 'again'
  if (answer.outcome === 'fenced') return 'lost'
  return await endParked(attempt, { kind: 'interrupted' })
}
