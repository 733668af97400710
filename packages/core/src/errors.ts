/**
 * Errors carry a stable code, a sentence that says what to do, and what happens next.
 * Waiting, blocking and interruption are values, not errors.
 */
/** What the code that catches the error does with it. */
export type Next = 'retry' | 'fail' | 'drop' | 'wait' | 'tell' | 'crash'

export class PawlError extends Error {
  override readonly name: string = 'PawlError'
  constructor(
    /** Stable, upper snake case: `UNKNOWN_AGENT`. */
    readonly code: string,
    message: string,
    readonly next: Next = 'tell',
    /** Extra members of the problem document: ids, states, names. Never payloads or secrets. */
    readonly details: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** A tool's own word that *this send* had no effect. Only a tool may say so; the bracket never guesses it from an error. */
export class NotApplied extends Error {
  override readonly name = 'NotApplied'
  readonly retryAfterMs: number | undefined
  readonly rateLimited: boolean
  /** @param options.retryAfterMs wait at least this long before the next send; @param options.rateLimited spends neither retries nor failures. */
  constructor(message: string, options: { retryAfterMs?: number; rateLimited?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.retryAfterMs = options.retryAfterMs
    this.rateLimited = options.rateLimited ?? false
  }
}

/** Thrown to the agent: every send of this call is proved not applied and its retries are spent. Its `stack` has no frames: agents pass it on, and it must be the same on replay. */
export class ToolFailed extends Error {
  override readonly name = 'ToolFailed'
  constructor(readonly tool: string, readonly key: string, message: string) {
    super(message)
    this.stack = `${this.name}: ${message}`
  }
}

/** Thrown to the agent: a person said no to this call. No frames, as with `ToolFailed`. */
export class Rejected extends Error {
  override readonly name = 'Rejected'
  constructor(readonly tool: string, readonly key: string, message: string) {
    super(message)
    this.stack = `${this.name}: ${message}`
  }
}

/** Name, message and code of anything thrown, without stack: what the ledger keeps of an error. */
export interface ErrorRecord {
  readonly name: string
  readonly message: string
  readonly code?: string
}

export function recordError(thrown: unknown): ErrorRecord {
  if (!(thrown instanceof Error)) return { name: 'Error', message: String(thrown).slice(0, 2_000) }
  const code = (thrown as { code?: unknown }).code
  return {
    name: thrown.name,
    message: thrown.message.slice(0, 2_000),
    ...(typeof code === 'string' ? { code } : {}),
  }
}
