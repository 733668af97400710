/**
 * What a brief is made of: durable facts only, decoded. The loop takes them from its claim, the reads take them from the ledger; both get the same bytes.
 * Here and not in the harness, because a client that shows what a model sees next imports no harness. The messages are shaped as AI SDK `ModelMessage`s
 * without importing it: a test in the harness holds the two types together.
 */
import { z } from 'zod'
import type { ActionStatus } from '../words.ts'

/** Kept for the provider and handed back word for word: signatures of its reasoning, for instance. */
const providerOptions = z.record(z.string(), z.record(z.string(), z.json()))

const turnCall = z.object({
  /** As the model names the tool. */
  name: z.string(),
  /** As the model gave it, unchecked. */
  input: z.unknown(),
  /** Of the action or the question this call is about. Null: the call never became one. */
  key: z.string().nullable(),
  /** What the model is told in place of a result: its input did not fit, there is no such tool. */
  refusal: z.string().optional(),
  providerOptions: providerOptions.optional(),
})

/** A model's whole answer, as `turns.decision` keeps it (by the codec). Ids of calls are not kept: a brief numbers them itself. */
export const turnDecision = z.object({
  text: z.string(),
  calls: z.array(turnCall),
  /** Only for providers that want it back beside the calls it led to. */
  reasoning: z.array(z.object({ text: z.string(), providerOptions: providerOptions.optional() })).optional(),
  finishReason: z.string(),
})
export type TurnDecision = z.infer<typeof turnDecision>
export type TurnCall = TurnDecision['calls'][number]

export interface BriefAction {
  readonly key: string
  /** As the model names it where it can call it, else the tool's own name. */
  readonly name: string
  readonly status: ActionStatus
  readonly args: unknown
  /** Of a committed action. */
  readonly result: unknown
  /** Of a failed, rejected or abandoned one: what its maker is told. */
  readonly error: string | null
}

export interface BriefTurn extends Pick<TurnDecision, 'text' | 'calls' | 'reasoning'> {
  /** 1, 2, … within its item. */
  readonly n: number
}

export interface BriefQuestion {
  readonly key: string
  readonly question: string
  /** `open`, `answered` or `void`. */
  readonly status: string
  readonly answer: unknown
}

export interface BriefTally {
  /** Work items of the run. */
  readonly total: number
  readonly done: number
  readonly failed: number
  readonly blocked: number
  readonly cancelled: number
  /** Why items failed, most frequent first, ties by reason. */
  readonly failures: readonly { readonly reason: string; readonly count: number }[]
}

export interface BriefFacts {
  /** The agent's instructions. Null: they are not known here (a brief made from the ledger alone). */
  readonly system: string | null
  readonly run: {
    readonly id: string
    readonly agent: string
    readonly agentVersion: string
    readonly modelVersion: string | null
    readonly promptVersion: string | null
    readonly schemaVersion: number
    readonly input: unknown
  }
  readonly item: { readonly seq: number; readonly kind: string; readonly key: string; readonly payload: unknown }
  /** Null where nobody counted. */
  readonly tally: BriefTally | null
  /** The item's, by order number. Undos are none of them. */
  readonly actions: readonly BriefAction[]
  /** By `n`. */
  readonly turns: readonly BriefTurn[]
  readonly questions: readonly BriefQuestion[]
}

type Options = { providerOptions?: z.infer<typeof providerOptions> }
export type BriefPart = { type: 'text'; text: string } | ({ type: 'reasoning'; text: string } & Options) | ({ type: 'tool-call'; toolCallId: string; toolName: string; input: Record<string, unknown> } & Options)
export interface BriefResult { type: 'tool-result'; toolCallId: string; toolName: string; output: { type: 'text' | 'error-text'; value: string } }
export type BriefMessage = { role: 'user'; content: string } | { role: 'assistant'; content: BriefPart[] } | { role: 'tool'; content: BriefResult[] }

/** What a loop tells of itself, as `brief` on the function it makes: so that others can show what its model sees. */
export interface BriefSource {
  readonly system: string
  readonly contextTokens: number
}

export interface BriefBudget {
  /** For system and messages together. Tool definitions and the answer need room of their own. */
  readonly tokens: number
  /** Tokens of a text, never too few; the same for the same text. Default `estimateTokens`. */
  readonly estimate?: (text: string) => number
}

export interface Brief {
  readonly system: string
  readonly messages: BriefMessage[]
  /** As estimated. */
  readonly tokens: number
  /** The committed and open actions alone do not fit: nothing was left out, the budget is exceeded. */
  readonly isOver: boolean
  /** Turns told by their actions only; the later ones are verbatim. */
  readonly turnsDigested: number
}
