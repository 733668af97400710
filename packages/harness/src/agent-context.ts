/** What an agent's code gets beside its payload: tools as functions, and `ctx`. */
import { decode, encode, limits, PawlError, waitMs } from '@pawl/core'
import { addItems } from '@pawl/ledger'
import { bindCall, type BoundCall, type ToolMap } from '@pawl/tools'
import { ask } from './ask.ts'
import { isLedgerAway, never, type Attempt } from './attempt.ts'
import { callTool } from './bracket.ts'
import type { AgentContext, ItemSeed, RunFacts } from './define-agent.ts'
import { encodeItems } from './encode-items.ts'
import { inRecord, waitInRecord } from './record-scope.ts'
import { addedSchema } from './upcast.ts'

export function toolsOf(attempt: Attempt): Record<string, BoundCall> {
  return Object.fromEntries(Object.entries(attempt.agent.tools as ToolMap).map(([property, tool]) => [
    property, bindCall(tool, (input, options) => waitInRecord(attempt, callTool(attempt, tool, input, options?.key))),
  ]))
}

export const factsOf = (attempt: Attempt): RunFacts => ({
  id: attempt.run.id, agent: attempt.run.agent, version: attempt.run.agent_version, labels: attempt.run.labels,
})

/** The attempt behind an agent's context: for the loop, which is an agent's `run` and does what no handler may. */
const attempts = new WeakMap<AgentContext, Attempt>()
export const attemptOf = (ctx: AgentContext): Attempt | undefined => attempts.get(ctx)

export function contextOf(attempt: Attempt): AgentContext {
  const ctx: AgentContext = {
    run: factsOf(attempt),
    item: { seq: attempt.item.seq, key: attempt.item.key },
    attempt: attempt.item.attempts,
    signal: attempt.signal,
    record: (name, fn) => waitInRecord(attempt, record(attempt, name, fn)),
    ask: (question, schema, options) => waitInRecord(attempt, ask(attempt, question, schema, options?.key)),
    sleepUntil: (at) => waitInRecord(attempt, sleepUntil(attempt, at)),
    addItems: (items) => waitInRecord(attempt, add(attempt, items)),
    log: (line) => attempt.parts.log('info', line, attempt.place),
  }
  attempts.set(ctx, attempt)
  return ctx
}

/**
 * The kept value, or `fn`'s, kept before anything later of the item is sent. The n-th record of a name is the n-th on every attempt; where calls run
 * beside each other nobody could say which is the n-th, so there a name is good for one record.
 */
async function record<T>(attempt: Attempt, name: string, fn: () => T | Promise<T>): Promise<T> {
  if (attempt.ending) return await never<T>()
  const n = attempt.ordinal(`record:${name}`)
  if (n > 1 && attempt.hasBranches) {
    throw new PawlError('RECORD_ORDER', `ctx.record: "${name}" is used a second time in an item whose calls run beside each other; on another attempt one branch could get the other's value. Give each a name of its own, for instance "${name}:" and what it is about.`, 'fail', { name })
  }
  const place = n === 1 ? name : `${name}#${n}`
  const kept = attempt.journal.record(place)
  if (kept) return decode(kept.value) as T
  const value = await makeRecord(attempt, place, name, fn)
  return attempt.ending ? await never<T>() : (decode(value) as T)
}

/** In flight until it is made, and no longer: what never settles must not hold the item. */
async function makeRecord(attempt: Attempt, place: string, name: string, fn: () => unknown): Promise<string> {
  return await inRecord(attempt, async () => {
    const value = encode(await fn(), { what: `record "${name}"`, maxBytes: limits.resultBytes })
    if (!attempt.ending) attempt.record(place, value)
    return value
  })
}

async function sleepUntil(attempt: Attempt, at: Date): Promise<void> {
  const delay = at.getTime() - Date.now()
  if (Number.isNaN(delay)) throw new PawlError('BAD_TIME', 'ctx.sleepUntil got an invalid Date.', 'fail')
  if (delay <= 0) return
  // Short sleeps are not worth a new claim.
  if (delay <= 1_000) await waitMs(delay, attempt.signal)
  else attempt.park({ kind: 'sleep', delayMs: delay })
  if (attempt.ending) await never()
}

async function add(attempt: Attempt, items: readonly ItemSeed<unknown>[]): Promise<void> {
  if (attempt.ending) return await never()
  if (attempt.item.kind !== 'work') throw new PawlError('RUN_CLOSED', 'ctx.addItems: a run takes no items once it is finalized. Add them from run.', 'fail')
  const encoded = encodeItems(attempt.agent, items)
  const leave = attempt.enter()
  try {
    await attempt.durable()
    const answer = await addItems(attempt.parts.ledger, attempt.holder, encoded, addedSchema(attempt.agent, attempt.run)).catch((error: unknown): { outcome: 'unreachable'; names: null } => {
      if (!isLedgerAway(error)) throw error
      attempt.park({ kind: 'interrupted' })
      return { outcome: 'unreachable', names: null }
    })
    if (answer.outcome === 'fenced') attempt.park({ kind: 'lost' })
    if (answer.outcome === 'closed') attempt.park({ kind: 'interrupted' })
    if (answer.outcome === 'conflict') {
      throw new PawlError('ITEM_KEY_CONFLICT', `ctx.addItems: ${(answer.names ?? []).slice(0, 3).join(', ')} is in the run with another payload. Give the new item its own key.`, 'fail')
    }
  } finally {
    leave()
  }
  if (attempt.ending) await never()
}
