/**
 * A tool says what it does to the world (`effect`) and, where that is not enough to be safe, how to find out
 * afterwards (`verify`) or how to take it back (`undo`). Definitions that cannot keep the promise are refused here,
 * when the program starts, not when the call is in doubt.
 */
import { durationMs, limits, PawlError, toolRetry, type Duration, type Effect, type RetryPolicy } from '@pawl/core'
import type { z } from 'zod'
import type { Verdict } from './verdict.ts'

/** What `execute` gets beside its input. */
export interface ExecuteContext {
  /** The stable idempotency key: the same on every send of this call. Give it to the receiving system. */
  readonly key: string
  /** Aborts at the tool's timeout. Not at the loss of the lease: an answer under way is worth having. */
  readonly signal: AbortSignal
  readonly epoch: number
  /** 1 for the first send of this call. */
  readonly attempt: number
  readonly deadline: Date
  readonly runId: string
  readonly itemKey: string
  /** `fetch` that checks the guard again immediately before the request's bytes are written. */
  readonly fetch: typeof globalThis.fetch
  /** For tools that do not use `fetch`: call it immediately before the effect, also before one that comes ahead of a `fetch`: what was stopped before any guard counts as not sent. Throws `NotSent` when the send window is over. */
  readonly guard: () => void
  /** Keeps a partial proof durably, now: an id the receiver gave, a file it wrote. `verify` gets it back. */
  readonly note: (evidence: unknown) => Promise<void>
}

/** A `transactional` tool also gets the completion's own transaction. Queries through `tx` commit with the completion or not at all. */
export interface TransactionalContext extends ExecuteContext {
  readonly tx: ToolTransaction
}

/** The SQL door of a transactional tool. */
export interface ToolTransaction {
  query<Row extends Record<string, unknown> = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<{ rows: Row[]; rowCount: number }>
}

export interface VerifyContext {
  readonly key: string
  /** Everything `note` kept, and late answers of earlier holders, oldest first. */
  readonly evidence: readonly unknown[]
  readonly signal: AbortSignal
  readonly fetch: typeof globalThis.fetch
}

export interface UndoDefinition<I, R> {
  readonly tool: AnyTool
  /** The undo call's input, kept as data with the completion. */
  readonly input: (call: { input: I; result: R }) => unknown
}

/** The run a call belongs to, as an approval policy sees it. */
export interface ApprovalRun {
  readonly id: string
  readonly agent: string
  readonly version: string
  readonly labels: Readonly<Record<string, string>>
  /** Who started the run. */
  readonly createdBy: string
}

/** Whether a person's yes is needed before this call. A function must be quick, pure and synchronous; one that throws asks. */
export type ApprovalPolicy<I> = 'never' | 'always' | ((input: I, run: ApprovalRun) => boolean)

export interface ToolDefinition<I, R> {
  /** `mail.send`: lower case, digits, dots, dashes, underscores. */
  readonly name: string
  readonly version: string
  /** Models and operators read it. */
  readonly description: string
  readonly effect: Effect
  /** How long the receiver remembers a key. Past it a repeat is no longer safe. Default: for ever. */
  readonly keyWindow?: Duration
  /** Two simultaneous calls with one key are one effect: settling may repeat at once instead of waiting. */
  readonly concurrent?: boolean
  /** The call sets a state under a precondition (version, If-Match): may be repeated at once. */
  readonly precondition?: boolean
  /**
   * Everything this tool does outside goes through `fetch`, or comes after a call of `guard()`. A call that ended before either is then proved
   * not applied, whatever ended it (a refused connection, a deadline): it is retried, and the agent is told in the end. Without it a person is asked.
   */
  readonly guarded?: boolean
  readonly inputSchema: z.ZodType<I>
  readonly outputSchema: z.ZodType<R>
  /** The call's meaning, from its input. Without it the call is keyed by item and ordinal. */
  readonly key?: (input: I) => readonly unknown[]
  readonly timeout?: Duration
  /** For sends the tool itself proved not applied. */
  readonly retry?: Partial<RetryPolicy>
  readonly execute: (input: I, context: TransactionalContext) => Promise<R>
  readonly verify?: (input: I, context: VerifyContext) => Promise<Verdict<R>>
  /** How long after the call an applied effect may stay invisible to `verify`. */
  readonly settleWindow?: Duration
  readonly undo?: UndoDefinition<I, R>
  /** Nothing takes the effect back. Such a tool must say in `approval` whether a person is asked first. */
  readonly irreversible?: boolean
  /** Whether a person is asked before a call is sent: bound to this tool, its version and exactly these arguments, used once. Default `never`. */
  readonly approval?: ApprovalPolicy<I>
  /** Held back until the last item of the run is done, then sent by its finalizer in the order of the calls; discarded when the run is cancelled or compensated. The agent's call has no result then: it resolves to `undefined`. */
  readonly stage?: boolean
}

/** A checked definition with its defaults filled in. */
export interface Tool<I = unknown, R = unknown> extends Omit<ToolDefinition<I, R>, 'retry' | 'timeout' | 'settleWindow' | 'keyWindow'> {
  readonly kind: 'pawl.tool'
  readonly timeoutMs: number
  readonly settleWindowMs: number
  /** Undefined: the receiver never forgets. */
  readonly keyWindowMs: number | undefined
  readonly retry: RetryPolicy
}

/** A tool whatever its input and result: used where tools are kept in maps. */
// oxlint-disable-next-line typescript/no-explicit-any -- the one place where input and result are existential
export type AnyTool = Tool<any, any>
export type ToolMap = Readonly<Record<string, AnyTool>>

const namePattern = /^[a-z0-9]([a-z0-9._-]{0,98}[a-z0-9])?$/

function refuse(code: string, tool: string, sentence: string): never {
  throw new PawlError(code, `Tool "${tool}": ${sentence}`, 'crash', { tool })
}

/** What is asked of a person first, and what is held back. */
function refuseHandling<I, R>({ name, effect, irreversible, approval, stage, undo }: ToolDefinition<I, R>): void {
  if (approval !== undefined && approval !== 'never' && approval !== 'always' && typeof approval !== 'function') {
    refuse('BAD_TOOL_APPROVAL', name, 'approval must be "never", "always" or a function of (input, run) that returns a boolean.')
  }
  if (irreversible && approval === undefined) {
    refuse('BAD_TOOL_APPROVAL', name, 'it is irreversible and does not say whether a person is asked first. Write approval: "always", "never", or a function of (input, run).')
  }
  if (effect === 'read' && (irreversible || stage)) refuse('BAD_TOOL', name, 'a read changes nothing: it is neither irreversible nor held back. Remove irreversible and stage, or correct the effect.')
  if (undo?.tool.stage) refuse('BAD_TOOL_UNDO', name, `its undo "${undo.tool.name}" is staged, and a compensated run has no end to hold it back to. Use a tool without stage.`)
}

/** Whole milliseconds, and no more than a timer and the ledger can hold. */
function wholeWaitMs(tool: string, field: 'timeout' | 'settleWindow', given: Duration): number {
  const wait = Math.ceil(durationMs(given, `Tool "${tool}" ${field}`))
  if (wait > limits.toolWaitMostMs) {
    refuse('BAD_DURATION', tool, `${field} is at most ${limits.toolWaitMostMs / 86_400_000} days, and "${given}" is more. Let the call return a reference to what it began, and look for the end of it by a read.`)
  }
  return wait
}

/** A tool whose calls are held back: the agent is given no result. */
export type StagedTool<I = unknown, R = unknown> = Tool<I, R> & { readonly stage: true }

/** Registers a tool. Throws `BAD_TOOL…` naming the field and the way out. */
export function defineTool<I, R>(definition: ToolDefinition<I, R> & { readonly stage: true }): StagedTool<I, R>
export function defineTool<I, R>(definition: ToolDefinition<I, R>): Tool<I, R>
export function defineTool<I, R>(definition: ToolDefinition<I, R>): Tool<I, R> {
  const { name, effect } = definition
  if (!namePattern.test(name)) refuse('BAD_TOOL_NAME', name, 'the name must be 1-100 characters of a-z, 0-9, ".", "-", "_" and begin and end with a letter or digit.')
  if (!definition.version) refuse('BAD_TOOL', name, 'a version is missing. Write version: "1" and raise it when key, effect or undo change.')
  if (effect === 'read' && definition.undo) refuse('BAD_TOOL_UNDO', name, 'a read changes nothing, so it has nothing to undo. Remove undo, or correct the effect.')
  if (effect === 'transactional' && definition.verify) refuse('BAD_TOOL_VERIFY', name, 'a transactional call commits with its completion; there is never a doubt to verify. Remove verify.')
  if (effect === 'transactional' && definition.guarded) refuse('BAD_TOOL', name, 'a transactional call writes through tx, which no guard sees and no doubt follows. Remove guarded.')
  if (effect !== 'idempotent' && (definition.concurrent || definition.precondition || definition.keyWindow !== undefined)) {
    refuse('BAD_TOOL', name, 'concurrent, precondition and keyWindow speak about repeated calls and belong to effect: "idempotent" only.')
  }
  const undoTool = definition.undo?.tool
  if (undoTool && undoTool.effect === 'non-idempotent' && !undoTool.verify) {
    refuse('BAD_TOOL_UNDO', name, `its undo "${undoTool.name}" is non-idempotent without verify: an interrupted compensation could not tell whether it was undone. Give the undo a verify or a key.`)
  }
  if (undoTool && undoTool.effect === 'read') refuse('BAD_TOOL_UNDO', name, `its undo "${undoTool.name}" only reads.`)
  refuseHandling(definition)
  const { retry, timeout, settleWindow, keyWindow, ...rest } = definition
  return Object.freeze({
    ...rest,
    kind: 'pawl.tool' as const,
    timeoutMs: timeout === undefined ? limits.toolTimeoutMs : wholeWaitMs(name, 'timeout', timeout),
    settleWindowMs: settleWindow === undefined ? limits.settleWindowMs : wholeWaitMs(name, 'settleWindow', settleWindow),
    keyWindowMs: keyWindow === undefined ? undefined : Math.floor(durationMs(keyWindow, `Tool "${name}" keyWindow`)),
    retry: { ...toolRetry, ...retry },
  })
}
