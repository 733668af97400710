/** What the next turn's brief is made of, as this attempt knows it: its claim's journal, kept up to date. Pure. */
import { decode, type BriefAction, type BriefFacts, type BriefTally, type TurnDecision } from '@pawl/core'
import type { ActionRow } from '@pawl/ledger'
import type { Attempt } from '../attempt.ts'
import type { Offer } from './offer.ts'
import type { Loop } from './options.ts'

export function factsOf(attempt: Attempt, loop: Loop, tally: BriefTally | null, offer: Offer, decisions: readonly TurnDecision[], others: readonly BriefAction[]): BriefFacts {
  const { run, item } = attempt
  return {
    system: loop.system,
    run: {
      id: run.id, agent: run.agent, agentVersion: run.agent_version, modelVersion: run.model_version, promptVersion: run.prompt_version,
      schemaVersion: run.schema_version, input: decode(run.input),
    },
    item: { seq: item.seq, kind: item.kind, key: item.key, payload: decode(item.payload) },
    tally,
    actions: [...attempt.journal.actions().filter((action) => action.undoes === null).toSorted((a, b) => a.order_no - b.order_no).map((action) => actionOf(action, offer)), ...others],
    turns: decisions.map(({ text, calls, reasoning }, i) => ({ n: i + 1, text, calls, ...(reasoning === undefined ? {} : { reasoning }) })),
    // What an agent asks before it hands on to the loop, or a tool's maker in between: the answers are facts like any other.
    questions: attempt.journal.questions().map(({ key, question, status, answer }) => ({ key, question, status, answer: answer === null ? null : decode(answer) })),
  }
}

const actionOf = (action: ActionRow, offer: Offer): BriefAction => ({
  key: action.key, name: offer.names.get(action.tool) ?? action.tool, status: action.status, args: decode(action.args),
  result: action.status === 'committed' && action.result !== null ? decode(action.result) : undefined,
  error: action.error === null ? null : ((JSON.parse(action.error) as { message?: string }).message ?? null),
})
