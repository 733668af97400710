/** The tools of the cases: one per effect class over the effects server, each that can be undone by a keyed tool or, where it is looked up, by one that is looked up too. */
import { NotApplied } from '@pawl/core'
import { applied, defineTool, notApplied, type Tool, type ToolDefinition } from '@pawl/tools'
import { z } from 'zod'
import type { EffectClass } from '../effects-log.ts'
import type { EffectsServer } from '../effects-server.ts'

const inputSchema = z.object({ subject: z.string(), note: z.string().optional() })
const outputSchema = z.object({ ref: z.string() })
type Input = z.infer<typeof inputSchema>
type Output = z.infer<typeof outputSchema>
export type CaseTool = Tool<Input, Output>

export type CaseTools = {
  readonly keyed: CaseTool
  readonly lookup: CaseTool
  readonly opaque: CaseTool
  /** Keyed by what it is about, so that a later attempt may word it differently. */
  readonly meant: CaseTool
}

export interface ToolWindows {
  readonly timeoutMs: number
  readonly settleWindowMs: number
}

const refusals = new Set([400, 401, 429])
/** Undos are quick: a person who is asked about one need not wait for long. */
const mostUndoMs = 1_500

type Definition = Pick<ToolDefinition<Input, Output>, 'name' | 'effect' | 'concurrent' | 'key' | 'undo' | 'verify' | 'retry'> & { via: EffectClass; op?: string }

export function caseTools(effects: EffectsServer, { timeoutMs, settleWindowMs }: ToolWindows): CaseTools {
  /** 400, 401 and 429 prove that this send was not applied; anything else but 200 proves nothing. */
  const tool = ({ via, op = 'do', ...definition }: Definition): CaseTool => defineTool<Input, Output>({
    version: '1', description: 'A call whose receipts are counted.', timeout: op === 'undo' ? Math.min(timeoutMs, mostUndoMs) : timeoutMs, settleWindow: settleWindowMs, inputSchema, outputSchema, ...definition,
    async execute(input, { key, epoch, attempt, fetch }) {
      const response = await fetch(`${effects.url}/${via}/${op}/${encodeURIComponent(input.subject)}`, {
        method: 'POST', body: JSON.stringify(input), headers: { 'idempotency-key': key, 'x-epoch': String(epoch), 'x-attempt': String(attempt) },
      })
      if (refusals.has(response.status)) {
        const after = response.headers.get('retry-after')
        throw new NotApplied(`the receiver refused with ${response.status}`, { rateLimited: response.status === 429, ...(after === null ? {} : { retryAfterMs: Number(after) * 1_000 }) })
      }
      if (response.status !== 200) throw new Error(`the receiver answered ${response.status}, which says nothing`)
      return (await response.json()) as Output
    },
  })
  const verify = (op: string): NonNullable<ToolDefinition<Input, Output>['verify']> => async ({ subject }, { key, fetch }) => {
    const response = await fetch(`${effects.url}/lookup/${op}/${encodeURIComponent(subject)}`, { headers: { 'idempotency-key': key } })
    return response.status === 200 ? applied((await response.json()) as Output) : notApplied()
  }
  const undoneBy = (undo: CaseTool) => ({ undo: { tool: undo, input: ({ input }: { input: Input }) => ({ subject: input.subject }) } })
  const keyedUndo = tool({ name: 'keyed.undo', via: 'keyed', op: 'undo', effect: 'idempotent', concurrent: true })
  return {
    keyed: tool({ name: 'keyed', via: 'keyed', effect: 'idempotent', concurrent: true, ...undoneBy(keyedUndo) }),
    lookup: tool({ name: 'lookup', via: 'lookup', effect: 'non-idempotent', verify: verify('do'), ...undoneBy(tool({ name: 'lookup.undo', via: 'lookup', op: 'undo', effect: 'non-idempotent', verify: verify('undo') })) }),
    opaque: tool({ name: 'opaque', via: 'opaque', effect: 'non-idempotent', ...undoneBy(keyedUndo) }),
    meant: tool({ name: 'meant', via: 'keyed', effect: 'idempotent', concurrent: true, key: ({ subject }) => [subject], retry: { attempts: 1 } }),
  }
}
