/**
 * One send: the guard, the tool's `execute` with its deadline, and what came of it as a value. Writes nothing but notes.
 * A deadline ends the waiting, not the work: the late answer is handed on as evidence.
 */
import { encode, limits, NotApplied, recordError, type ErrorRecord } from '@pawl/core'
import { addEvidence, type Transaction } from '@pawl/ledger'
import { createGuardedFetch, type AnyTool, type TransactionalContext } from '@pawl/tools'
import type { Attempt } from './attempt.ts'
import { findNotSent, makeGuard, type Guard } from './guard.ts'
import type { Watch } from './watch.ts'

export type Sent =
  | { readonly kind: 'returned'; readonly value: unknown }
  /** Nothing left this process. */
  | { readonly kind: 'unsent'; readonly error: ErrorRecord }
  /** The tool proves this send not applied. */
  | { readonly kind: 'refused'; readonly error: NotApplied }
  /** Nobody knows. `late` resolves to the outcome if the call still answers. */
  | { readonly kind: 'unknown'; readonly error: ErrorRecord; readonly late: Promise<Sent> | undefined }

export interface SendCall {
  readonly tool: AnyTool
  readonly key: string
  readonly input: unknown
  readonly attempt: number
}

/** @param intended started before the intent's statement was sent. */
export async function executeSend(attempt: Attempt, call: SendCall, intended: Watch, tx?: Transaction): Promise<Sent> {
  const { tool } = call
  const guard = makeGuard(attempt, intended, tool.effect === 'read')
  try {
    guard.check()
  } catch (thrown) {
    return { kind: 'unsent', error: unsent(thrown) }
  }
  // The check above is the one before `execute`; only what passes at the write makes a send.
  const atWrite = makeGuard(attempt, intended, tool.effect === 'read')
  const deadline = new AbortController()
  const running = Promise.resolve()
    .then(() => tool.execute(call.input, contextOf(attempt, call, () => atWrite.check(), deadline.signal, tx)))
    .then((value): Sent => ({ kind: 'returned', value }), (thrown: unknown): Sent => classify(thrown, atWrite, tool))
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<Sent>((resolve) => {
    timer = setTimeout(() => {
      const error = new Error(`no answer within ${tool.timeoutMs} ms`)
      const proof = proveUnsent(error, atWrite, tool)
      deadline.abort(error)
      resolve(proof ?? { kind: 'unknown', error: { name: 'Timeout', message: error.message }, late: running })
    }, Math.min(tool.timeoutMs, 2 ** 31 - 1))
  })
  try {
    return await Promise.race([running, timeout])
  } finally {
    clearTimeout(timer)
  }
}

function classify(thrown: unknown, atWrite: Guard, tool: AnyTool): Sent {
  const stopped = findNotSent(thrown)
  if (stopped && !atWrite.hasPassed()) return { kind: 'unsent', error: unsent(stopped) }
  if (thrown instanceof NotApplied) return { kind: 'refused', error: thrown }
  return proveUnsent(thrown, atWrite, tool) ?? { kind: 'unknown', error: recordError(thrown), late: undefined }
}

/** A guarded tool that has not passed the guard has done nothing; closed now, it never will under this send. */
function proveUnsent(thrown: unknown, atWrite: Guard, tool: AnyTool): Sent | undefined {
  if (!tool.guarded || atWrite.hasPassed()) return undefined
  const { message } = recordError(thrown)
  atWrite.close(`this send is over: ${message}`)
  return { kind: 'refused', error: new NotApplied(`${tool.name} was not sent: ${reasonOf(thrown)}`, { cause: thrown }) }
}

/** `fetch failed` says nothing; what it was caused by does. */
function reasonOf(thrown: unknown): string {
  const { name, message } = recordError(thrown)
  if (!(thrown instanceof Error) || !(thrown.cause instanceof Error)) return message || name
  return `${message}: ${recordError(thrown.cause).message || (recordError(thrown.cause).code ?? thrown.cause.name)}`
}

const unsent = (thrown: unknown): ErrorRecord => ({ ...recordError(thrown), code: 'unsent' })

function contextOf(attempt: Attempt, call: SendCall, guard: () => void, signal: AbortSignal, tx: Transaction | undefined): TransactionalContext {
  return {
    key: call.key,
    signal,
    epoch: attempt.item.epoch,
    attempt: call.attempt,
    deadline: new Date(Date.now() + call.tool.timeoutMs),
    runId: attempt.run.id,
    itemKey: attempt.item.key,
    fetch: createGuardedFetch({ guard, signal }),
    guard,
    note: async (evidence) => {
      await addEvidence(attempt.parts.ledger, attempt.run.id, call.key, { entry: encode(evidence, { what: 'evidence', maxBytes: limits.argsBytes }) })
    },
    tx: tx ?? {
      query: () => Promise.reject(new Error(`Tool "${call.tool.name}" is ${call.tool.effect}, so it has no transaction. Declare effect: "transactional" to write in the ledger's own database.`)),
    },
  }
}
