/**
 * Is this tool what it says it is? Calls it twice with one key, one call after the other and both at once, and counts effects where they
 * arrive. A tool that is wrongly called idempotent is doubled by the first crash; one wrongly called concurrent by the first late request.
 */
import { newId, newRunId, PawlError, recordError, waitMs } from '@pawl/core'
import { createGuardedFetch, type Tool, type TransactionalContext } from '@pawl/tools'

export interface ToolSandbox<I> {
  /** An input that may really be sent; a function is asked once for each of the two probes. */
  readonly input: I | (() => I)
  /** Effects so far, counted where they arrive and not by the tool: rows, mails, requests carried out. */
  count(): number | Promise<number>
  /** How long an effect may take to be counted after its call has ended. Default 0. */
  readonly settleMs?: number
}

export interface ToolProblem {
  readonly kind: 'not-idempotent' | 'not-concurrent' | 'not-a-read' | 'nothing-counted'
  readonly what: string
  readonly fix: string
}

export interface ToolAudit {
  readonly ok: boolean
  readonly tool: string
  /** Effects counted: of one call, of a second one with its key, and of two at once with a key of theirs. */
  readonly effects: { readonly one: number; readonly again: number; readonly atOnce: number }
  /** What calls threw. A refusal of the second of two (409) is no problem; it is told because it may explain the counts. */
  readonly errors: readonly string[]
  readonly problems: readonly ToolProblem[]
}

/** @throws PawlError `NOT_AUDITABLE` for a transactional tool, whose SQL commits with the ledger's own or not at all. */
export async function auditTool<I, R>(tool: Tool<I, R>, sandbox: ToolSandbox<I>): Promise<ToolAudit> {
  if (tool.effect === 'transactional') {
    throw new PawlError('NOT_AUDITABLE', `Tool "${tool.name}" is transactional: it commits with the ledger's own row or not at all, and is never called again after that. There is nothing to audit.`, 'tell')
  }
  const errors: string[] = []
  const probe = () => {
    const input = tool.inputSchema.parse(typeof sandbox.input === 'function' ? (sandbox.input as () => I)() : sandbox.input)
    const key = `audit-${newId()}`
    return (attempt: number) => send(tool, input, key, attempt).catch((error: unknown) => { errors.push(recordError(error).message) })
  }
  const counted = async (calls: () => Promise<unknown>): Promise<number> => {
    const before = await sandbox.count()
    await calls()
    await waitMs(sandbox.settleMs ?? 0)
    return (await sandbox.count()) - before
  }
  const [alone, both] = [probe(), probe()]
  const one = await counted(() => alone(1))
  const again = await counted(() => alone(2))
  const atOnce = await counted(() => Promise.all([both(1), both(2)]))
  const problems = problemsOf(tool, { one, again, atOnce })
  return { ok: problems.length === 0, tool: tool.name, effects: { one, again, atOnce }, errors, problems }
}

async function send<I, R>(tool: Tool<I, R>, input: I, key: string, attempt: number): Promise<R> {
  const signal = AbortSignal.timeout(tool.timeoutMs)
  const context: TransactionalContext = {
    key, signal, attempt, epoch: 1, deadline: new Date(Date.now() + tool.timeoutMs), runId: newRunId(), itemKey: 'audit',
    fetch: createGuardedFetch({ guard: () => {}, signal }), guard: () => {}, note: () => Promise.resolve(),
    tx: { query: () => Promise.reject(new Error(`Tool "${tool.name}" is ${tool.effect}, so it has no transaction.`)) },
  }
  return await tool.execute(input, context)
}

function problemsOf<I, R>({ name, effect, concurrent, precondition }: Tool<I, R>, { one, again, atOnce }: ToolAudit['effects']): ToolProblem[] {
  if (effect === 'read') {
    if (one + again + atOnce === 0) return []
    return [{ kind: 'not-a-read', what: `"${name}" is declared a read, and its calls had ${one + again + atOnce} effects.`, fix: 'Declare what it does: effect: "idempotent" where the receiver deduplicates on context.key, else "non-idempotent" with a verify.' }]
  }
  const problems: ToolProblem[] = []
  if (one === 0) {
    problems.push({ kind: 'nothing-counted', what: `A call of "${name}" had no effect that count() sees, so this audit proves nothing.`, fix: 'Let count() count where the effect arrives, raise settleMs, and look at errors: the call may have failed.' })
  }
  if (effect !== 'idempotent') return problems
  if (again > 0) {
    problems.push({ kind: 'not-idempotent', what: `"${name}" is declared idempotent, and a second call with the same key had ${again} more effects.`, fix: 'Send context.key to the receiver as its idempotency key, if it has one; else declare effect: "non-idempotent" and give it a verify.' })
  }
  if ((concurrent || precondition) && atOnce > Math.max(one, 1)) {
    const claim = concurrent ? 'concurrent' : 'precondition'
    problems.push({ kind: 'not-concurrent', what: `"${name}" is declared ${claim}: true, and two calls at once with one key had ${atOnce} effects.`, fix: `Remove ${claim}: true; a call is then repeated only when no earlier one can still be under way. Or let the receiver reserve the key before it acts.` })
  }
  return problems
}
