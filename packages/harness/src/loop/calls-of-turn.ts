/**
 * The calls of one turn: checked and keyed when the model asks for them, made again from the record when the item is resumed. A key comes from the item
 * and the tool's ordinal, or from the call's meaning; never from the provider's call id, which is another on every request.
 */
import { decode, PawlError, Rejected, ToolFailed, type TurnCall, type TurnDecision } from '@pawl/core'
import type { Attempt } from '../attempt.ts'
import { makeCall } from '../bracket.ts'
import type { Call } from '../call.ts'
import { prepare } from '../prepare.ts'
import { pinnedTool, toolByName } from '../tool-by-name.ts'
import type { AskedCall, Said } from './decision.ts'
import { answerName, type Offer } from './offer.ts'
import type { Loop } from './options.ts'

export interface PlannedTurn {
  readonly decision: TurnDecision
  readonly calls: readonly Call[]
  /** The item's result, where the model gave it in the declared shape. */
  readonly answer: { readonly value: unknown } | undefined
}

interface Planned {
  readonly recorded: TurnCall
  readonly call?: Call
  readonly answer?: { readonly value: unknown }
}

/** Synchronous, in the model's order: ordinals are drawn here. Writes and sends nothing. */
export function planTurn(attempt: Attempt, loop: Loop, offer: Offer, n: number, said: Said): PlannedTurn {
  const planned = said.asked.map((asked): Planned => planCall(attempt, loop, offer, n, asked))
  const { text, finishReason, reasoning } = said
  return gather({ text, finishReason, calls: planned.map((one) => one.recorded), ...(reasoning === undefined ? {} : { reasoning }) }, planned)
}

const gather = (decision: TurnDecision, planned: readonly Planned[]): PlannedTurn =>
  ({ decision, calls: planned.flatMap(({ call }) => (call ? [call] : [])), answer: planned.find((one) => one.answer)?.answer })

const refusals = new Set(['TOOL_INPUT', 'TOO_LARGE', 'UNSTORABLE'])

function planCall(attempt: Attempt, loop: Loop, offer: Offer, n: number, asked: AskedCall): Planned {
  const { name, providerOptions } = asked
  const recorded = { name, input: asked.input ?? asked.text, key: null, ...(providerOptions === undefined ? {} : { providerOptions }) }
  const refuse = (refusal: string): Planned => ({ recorded: { ...recorded, refusal } })
  const tool = offer.tools.get(name)
  if (!tool && !(loop.output && name === answerName)) return refuse(`There is no tool "${name}". There are: ${offer.functions.map((one) => one.name).join(', ') || 'none'}.`)
  if (asked.input === undefined) return refuse(asked.misfit ?? 'The input is no JSON object. Nothing was sent.')
  if (!tool) {
    const answer = loop.output?.safeParse(asked.input)
    const issue = answer?.error?.issues[0]
    return answer?.success ? { recorded, answer: { value: answer.data } } : refuse(`The answer does not fit at "${issue?.path.join('.') ?? ''}": ${issue?.message ?? 'unknown'}.`)
  }
  try {
    const call = prepare(attempt, tool, asked.input, undefined)
    return { recorded: { ...recorded, key: call.key }, call: { ...call, turn: n } }
  } catch (error) {
    if (error instanceof PawlError && refusals.has(error.code)) return refuse(error.message)
    throw error
  }
}

/** The turn as it was recorded: the same keys, the same arguments, nothing decided anew. Throws `TURN_UNREADABLE` for a call this build cannot make. */
export function resumeTurn(attempt: Attempt, loop: Loop, offer: Offer, n: number, decision: TurnDecision): PlannedTurn {
  const recalled = new Map<string, Call>()
  return gather(decision, decision.calls.map((recorded): Planned => {
    if (recorded.refusal !== undefined) return { recorded }
    if (recorded.key === null) {
      const answer = loop.output?.safeParse(recorded.input)
      if (!answer?.success) throw unreadable(n, recorded, 'the answer does not fit the schema of this build')
      return { recorded, answer: { value: answer.data } }
    }
    // Twice the same call in other words: a person has looked at the conflict and let the item go on, with the first one's words.
    const call = recalled.get(recorded.key) ?? recall(attempt, offer, n, recorded, recorded.key)
    recalled.set(recorded.key, call)
    return { recorded, call }
  }))
}

function recall(attempt: Attempt, offer: Offer, n: number, recorded: TurnCall, key: string): Call {
  const row = attempt.journal.get(key)
  const offered = offer.tools.get(recorded.name)
  const tool = (row && toolByName(attempt.agent, row.tool, row.tool_version)) ?? (offered && pinnedTool(attempt.agent, offered, attempt.run.tools))
  if (!tool) throw unreadable(n, recorded, 'this build has no such tool')
  const own = !tool.key
  // Drawn as it was then: the calls of later turns count on.
  if (own) attempt.ordinal(tool.name)
  if (row) return { tool, input: decode(row.args), args: row.args, argsDigest: row.args_digest, key, undoes: null, turn: n }
  try {
    return { ...prepare(attempt, { ...tool, key: () => [] }, recorded.input, undefined), tool, key, turn: n }
  } catch (error) {
    if (error instanceof PawlError && refusals.has(error.code)) throw unreadable(n, recorded, error.message)
    throw error
  }
}

const unreadable = (n: number, { name }: TurnCall, why: string): PawlError =>
  new PawlError('TURN_UNREADABLE', `Turn ${n} of the item decided on "${name}", which cannot be made now: ${why}. Serve this run with the version that decided it.`, 'fail', { turn: n })

/** All of them at once; resolves when each has a result, a refusal or a person's no, all of which the ledger has. Results whose row is another item's come back. */
export async function makeCalls(attempt: Attempt, calls: readonly Call[]): Promise<readonly { readonly call: Call; readonly value: unknown }[]> {
  const made = calls.map((call) => makeCall(attempt, call).then((value) => ({ call, value }), (error: unknown) => {
    if (error instanceof ToolFailed || error instanceof Rejected) return undefined
    throw error
  }))
  return (await Promise.all(made)).flatMap((one) => (one && !attempt.journal.get(one.call.key) ? [one] : []))
}
