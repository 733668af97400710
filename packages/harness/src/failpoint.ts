/** Places where a crash matters, named after the crash table. Inert unless a test or a chaos run hands in a hook. */
export const FAILPOINTS = [
  'before-claim', 'after-claim', 'before-intent', 'after-intent', 'before-send', 'after-answer', 'after-completion', 'before-finish', 'after-finish',
  'between-undos', 'before-settle', 'before-seal', 'after-decision', 'after-turn', 'before-request', 'after-request',
] as const
export type FailpointName = (typeof FAILPOINTS)[number]

export interface FailpointPlace {
  readonly runId: string
  readonly seq: number
  /** Of the attempt; absent before the claim. */
  readonly epoch?: number
  readonly tool?: string
  readonly key?: string
  /** Of a model's decision. */
  readonly turn?: number
}

export type Failpoint = (name: FailpointName, place: FailpointPlace) => void | Promise<void>
