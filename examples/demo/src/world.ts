/** What an example brings to the demo: its part of the outside world, and the proof of what happened there. */
import type { AnyAgent } from '@pawl/harness'
import type { Ledger } from '@pawl/ledger'

export interface Doubt {
  readonly actionId: number
  readonly tool: string
  readonly key: string
  readonly attempt: number
  readonly evidence: number
  readonly args: unknown
  /** Epoch milliseconds from which "it did not happen" may be answered. */
  readonly answerableAtMs: number
}

/** A call that waits for a person's yes, as it is shown. */
export interface AskedCall {
  readonly tool: string
  readonly args: unknown
}

export interface Proof {
  /** Effects counted at the receiver. */
  readonly effects: number
  readonly duplicates: number
  readonly lost: number
  readonly commits?: number
  /** Of a run in which a model decides. */
  readonly thinking?: Thinking
  /** Sentences: what was looked at, with its figure. */
  readonly facts: readonly string[]
  /** What is not as it should be; empty when all is proved. */
  readonly faults: readonly string[]
}

export interface Thinking {
  /** Recorded by the ledger. */
  readonly turns: number
  /** Answered, by the model server's own log. */
  readonly modelCalls: number
  /** Model calls whose decision nobody lived to record: nothing of them was sent. */
  readonly interruptedTurns: number
  /** Model calls for a turn that had been recorded. */
  readonly repeatedDecisions: number
}

export interface World {
  readonly agent: AnyAgent
  readonly input: unknown
  /** Path of the built `pawl.config.js` the workers load. */
  readonly configPath: string
  readonly env: Readonly<Record<string, string>>
  /** Work actions the run is expected to commit, roughly: where the kills fall. */
  readonly expectedActions: number
  readonly items: number
  readonly workers: { readonly processes: number; readonly concurrency: number; readonly timings?: Readonly<Record<string, number>> }
  readonly kills: {
    readonly workers: number
    readonly everything: boolean
    /** Fractions of the run between which they fall. */
    readonly between: readonly [number, number]
    /** Also workers with no call under way: a model thinks. */
    readonly anyMoment?: boolean
  }
  /** Where processes kill themselves, beside the kills from outside: entries of `PAWL_FAILPOINTS`, each strikes at most once. */
  readonly failpoints?: readonly string[]
  /** How a run of this example ends when all is well. */
  readonly endings: readonly string[]
  /** A person looks outside and answers; undefined: not yet. */
  answerDoubt?(doubt: Doubt): Promise<'happened' | 'did_not' | undefined>
  /** A person looks at a call that waits for a yes. */
  readonly approve?: (call: AskedCall) => 'approved' | 'rejected'
  /** Called all the time while the run goes on: the outside world's own doings. */
  tick?(): Promise<void>
  prove(ledger: Ledger, runId: string): Promise<Proof>
  close(): Promise<void>
}

export interface WorldOptions {
  /** A folder of the demo's own, empty. */
  readonly folder: string
  readonly databaseUrl: string
  readonly say: (line: string) => void
  /** A part of the items and fewer kills: what the tests run. */
  readonly isSmall: boolean
  /** Whoever watches the demo answers what waits for a yes; the demo answers nothing of it. */
  readonly isByHand: boolean
  /** Of the seed that is printed: the same choices for the same seed. */
  readonly random: () => number
}

export interface Example {
  readonly name: string
  /** One sentence: what it does. */
  readonly about: string
  /** A run each; most have one. */
  readonly worlds: readonly ((options: WorldOptions) => Promise<World>)[]
}
