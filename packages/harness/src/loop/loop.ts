/**
 * `agentLoop`: an agent's `run` that lets a model decide. It reads aloud as: ask the model, record what it decided, make its calls, ask again.
 * Nothing of a turn is sent before its decision is durable, and that costs no write of its own: the record rides with the first intents it decides. A restart
 * goes through the recorded turns from the first: calls in the ledger return at once, calls not yet begun are begun from the record, and the model is asked
 * only for the turn nobody has recorded.
 */
import { buildBrief, estimateTokens, PawlError, type BriefAction, type BriefSource, type TurnDecision } from '@pawl/core'
import type { LanguageModelV3Prompt } from '@ai-sdk/provider'
import { readSpent } from '@pawl/ledger'
import type { ModelPins } from '@pawl/tools'
import { attemptOf } from '../agent-context.ts'
import { never, type Attempt } from '../attempt.ts'
import type { AgentContext, AnyAgent, ItemOutcome } from '../define-agent.ts'
import { costMicrosOf, findExceeded, type Spent } from './budget.ts'
import { makeCalls, planTurn, resumeTurn, type PlannedTurn } from './calls-of-turn.ts'
import { askModel } from './decide.ts'
import { decodeDecision, encodeDecision, readAnswer, refusedInARow, type ModelAnswer } from './decision.ts'
import { factsOf } from './facts.ts'
import { answerName, offerOf, type Offer } from './offer.ts'
import { tallyOf } from './tally.ts'
import { checkLoop, type Loop, type LoopOptions } from './options.ts'

/** Turns in a row whose calls were refused before a person looks. */
const mostRefused = 3

export type LoopRun = (call: { readonly ctx: AgentContext }) => Promise<ItemOutcome>

const loops = new WeakMap<object, Loop>()

/** A model decides what an item does. Throws `BAD_LOOP`. */
export function agentLoop(options: LoopOptions): LoopRun {
  const loop = checkLoop(options)
  const run: LoopRun = async ({ ctx }) => {
    const attempt = attemptOf(ctx)
    if (!attempt) throw new PawlError('BAD_LOOP', 'agentLoop: it was called with a ctx that is not Pawl\'s own. Give its result to defineAgent as run, or hand ctx on as it is.', 'fail')
    return await new LoopOfItem(attempt, loop).run()
  }
  loops.set(run, loop)
  return Object.assign(run, { brief: { system: loop.system, contextTokens: loop.contextTokens } satisfies BriefSource, pins: { model: loop.modelVersion, prompt: loop.promptVersion } satisfies ModelPins })
}

/** The pins of an agent that thinks; undefined for one whose code decides. */
export function loopOf(agent: Pick<AnyAgent, 'run'>): { readonly modelVersion: string; readonly promptVersion: string } | undefined {
  const loop = loops.get(agent.run)
  return loop && { modelVersion: loop.modelVersion, promptVersion: loop.promptVersion }
}

class LoopOfItem {
  readonly #offer: Offer
  readonly #decisions: TurnDecision[] = []
  /** Results of calls that another item of the run had made already. */
  readonly #others: BriefAction[] = []
  #tokens: number
  #costMicros: number

  constructor(private readonly attempt: Attempt, private readonly loop: Loop) {
    this.#offer = offerOf(attempt.agent, loop)
    this.#tokens = attempt.item.tokens_used
    this.#costMicros = attempt.item.cost_micros
  }

  async run(): Promise<ItemOutcome> {
    if (this.#holdsCallsOfLostTurns()) return await never()
    for (let n = 1; ; n++) {
      const recorded = this.attempt.journal.turn(n)
      const { turn, isRecorded } = recorded ? { turn: this.#resume(n, recorded.decision), isRecorded: Promise.resolve() } : await this.#decide(n)
      this.#decisions.push(turn.decision)
      const results = await makeCalls(this.attempt, turn.calls)
      this.#others.push(...results.map(({ call, value }): BriefAction =>
        ({ key: call.key, name: this.#offer.names.get(call.tool.name) ?? call.tool.name, status: 'committed', args: call.input, result: value, error: null })))
      // Not before it is durable may the model, or anybody, go on from it.
      await isRecorded
      if (this.attempt.ending) return await never()
      const outcome = this.#outcomeOf(turn)
      if (outcome) return outcome
      if (!recorded && refusedInARow(this.#decisions) >= mostRefused) return await this.#block('tool_input', { turn: n, refusal: turn.decision.calls.find((call) => call.refusal !== undefined)?.refusal ?? 'no call' })
    }
  }

  #resume(n: number, decision: string): PlannedTurn {
    return resumeTurn(this.attempt, this.loop, this.#offer, n, decodeDecision(n, decision))
  }

  async #decide(n: number): Promise<{ turn: PlannedTurn; isRecorded: Promise<void> }> {
    const { attempt, loop } = this
    // One that stood still past its lease asks nothing more: somebody else has the item.
    if (attempt.isLost) return await never()
    await this.#stayWithinBudget(n - 1)
    const brief = buildBrief(factsOf(attempt, loop, await tallyOf(attempt.parts.ledger, attempt.run.id), this.#offer, this.#decisions, this.#others), { tokens: loop.contextTokens })
    if (brief.isOver) attempt.parts.log('warn', `the prompt of turn ${n} takes about ${brief.tokens} tokens, more than contextTokens: what is done and open alone does not fit`, attempt.place)
    const prompt: LanguageModelV3Prompt = [{ role: 'system', content: brief.system }, ...brief.messages.map((message): LanguageModelV3Prompt[number] =>
      (message.role === 'user' ? { role: 'user', content: [{ type: 'text', text: message.content }] } : message))]
    if (loop.output && this.#decisions.at(-1)?.calls.length === 0) prompt.push({ role: 'user', content: [{ type: 'text', text: `Give the result by calling ${answerName}.` }] })
    const told = attempt.trace.turn(n, { name: loop.modelVersion, provider: loop.model().provider.split('.')[0] ?? 'unknown' })
    const answer = await askModel(attempt, loop, n, {
      ...loop.request, prompt,
      ...(this.#offer.functions.length === 0 ? {} : { tools: [...this.#offer.functions], toolChoice: { type: loop.output ? 'required' : 'auto' } }),
    })
    told({ inputTokens: answer.usage.inputTokens.total ?? 0, outputTokens: answer.usage.outputTokens.total ?? 0, finishReason: answer.finishReason.unified })
    await attempt.parts.failpoint('after-decision', { ...attempt.holder, turn: n })
    if (attempt.ending) return await never()
    return this.#record(n, planTurn(attempt, loop, this.#offer, n, readAnswer(answer)), answer, brief.tokens)
  }

  /** Enqueued, not awaited: the calls that are made in this tick ride with it. */
  #record(n: number, turn: PlannedTurn, answer: ModelAnswer, promptTokens: number): { turn: PlannedTurn; isRecorded: Promise<void> } {
    const { attempt, loop } = this
    const decision = encodeDecision(turn.decision)
    const input = answer.usage.inputTokens.total ?? promptTokens
    const output = answer.usage.outputTokens.total ?? estimateTokens(decision)
    const costMicros = costMicrosOf(loop.prices, { input, output, cachedInput: answer.usage.inputTokens.cacheRead ?? 0 })
    this.#tokens += input + output
    const { agent } = attempt.run
    attempt.parts.observe('pawl_turns_total', 1, { agent })
    attempt.parts.observe('pawl_tokens_total', input, { agent, direction: 'input' })
    attempt.parts.observe('pawl_tokens_total', output, { agent, direction: 'output' })
    this.#costMicros += costMicros
    const isRecorded = attempt.turn({
      n, decision, costMicros, modelVersion: loop.modelVersion, promptVersion: loop.promptVersion, inputTokens: input, outputTokens: output,
      spentTokens: this.#tokens, spentMicros: this.#costMicros,
    }).then(async ({ outcome }) => {
      if (outcome === 'recorded') await attempt.parts.failpoint('after-turn', { ...attempt.holder, turn: n })
    })
    isRecorded.catch(() => {})
    return { turn, isRecorded }
  }

  #outcomeOf({ decision, answer, calls }: PlannedTurn): ItemOutcome | undefined {
    if (answer) return { result: answer.value }
    if (calls.length > 0 || decision.calls.length > 0 || this.loop.output || decision.finishReason === 'length') return undefined
    // An answer that was cut off went on in the next turn.
    const from = this.#decisions.findLastIndex((one) => one.calls.length > 0) + 1
    return { result: this.#decisions.slice(from).map((one) => one.text).join('') }
  }

  async #stayWithinBudget(turns: number): Promise<void> {
    const { attempt, loop } = this
    const { policy } = attempt.run
    const spent: Spent = { turns, tokens: this.#tokens, costMicros: this.#costMicros, wallMs: attempt.item.started_at === null ? 0 : Date.now() - Date.parse(attempt.item.started_at) }
    const own = findExceeded({ ...loop.budget, ...policy.itemBudget }, spent)
    const ofRun = own || !policy.budget ? undefined : findExceeded(policy.budget, await readSpent(attempt.parts.ledger, attempt.run.id))
    const exceeded = own ?? ofRun
    if (exceeded) await this.#block('budget', { scope: own ? 'item' : 'run', ...exceeded })
  }

  async #block(reason: 'budget' | 'tool_input' | 'diverged', detail: Readonly<Record<string, unknown>>): Promise<never> {
    this.attempt.park({ kind: 'blocked', reason, detail })
    return await never()
  }

  /** Calls whose turn is not there: the ledger lost it, with the history that was cut off. Deciding anew could repeat them under other keys. */
  #holdsCallsOfLostTurns(): boolean {
    const { journal } = this.attempt
    const lost = journal.allowNewCalls ? undefined : journal.actions().find((action) => action.turn !== null && action.effect !== 'read' && !journal.turn(action.turn))
    if (lost) this.attempt.park({ kind: 'blocked', reason: 'diverged', detail: { tool: lost.tool, recorded: { action: lost.id, key: lost.key, args: lost.args_digest }, turn: lost.turn } })
    return lost !== undefined
  }
}

