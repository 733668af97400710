/** One tool per promise a receiver can make, over the effects server: every receipt is counted there; what was asked, answered and lost is counted here. */
import { NotApplied } from '@pawl/core'
import { applied, defineTool, NotSent, notApplied, unknown, type AnyTool, type Tool, type ToolDefinition } from '@pawl/tools'
import { z } from 'zod'
import type { EffectClass } from '../effects-log.ts'
import type { Chance } from './chance.ts'
import type { Receiver } from './receiver.ts'
import type { CallTool } from './run-plan.ts'
import type { Tally } from './tally.ts'

export const callInput = z.object({ subject: z.string(), note: z.string().optional() })
export const callOutput = z.object({ ref: z.string() })
export type CallInput = z.infer<typeof callInput>
export type CallOutput = z.infer<typeof callOutput>
export type CallToolOf = Tool<CallInput, CallOutput>

export interface ToolParts {
  readonly effects: Pick<Receiver, 'url'>
  readonly chance: Chance
  readonly tally: Tally
}

type Definition = Omit<ToolDefinition<CallInput, CallOutput>, 'inputSchema' | 'outputSchema' | 'execute' | 'version' | 'description'> & { via: EffectClass; op?: string }

const refusals = new Set([400, 401, 429])
/** Names of the tools whose receiver is the effects server. */
export const WATCHED_TOOLS = ['read', 'keyed', 'shared', 'keyed-slow', 'lookup', 'opaque', 'asked', 'staged', 'keyed.undo', 'lookup.undo'] as const

export const common = { version: '1', timeout: 1_500, settleWindow: 500, retry: { firstDelayMs: 50 }, inputSchema: callInput, outputSchema: callOutput } as const

/** 400, 401 and 429 prove that this send was not applied; anything else but 200 proves nothing. */
function effectTool({ effects, tally }: ToolParts, { via, op = 'do', ...definition }: Definition): CallToolOf {
  return defineTool<CallInput, CallOutput>({
    ...common, description: 'A call whose receipts are counted.', guarded: true, ...definition,
    async execute(input, { key, epoch, attempt, fetch }) {
      const response = await fetch(`${effects.url}/${via}/${op}/${encodeURIComponent(input.subject)}`, {
        method: 'POST', body: JSON.stringify(input), headers: { 'idempotency-key': key, 'x-epoch': String(epoch), 'x-attempt': String(attempt) },
      }).catch((error: unknown) => {
        if (!isNotSent(error)) tally.fault('lostAnswer')
        throw error
      })
      if (refusals.has(response.status)) {
        if (response.status === 401 && attempt > 1) tally.count('recallRefused')
        const after = response.headers.get('retry-after')
        throw new NotApplied(`${response.status}`, { rateLimited: response.status === 429, ...(after === null ? {} : { retryAfterMs: Number(after) * 1_000 }) })
      }
      if (response.status === 500) tally.fault('lostAnswer')
      if (response.status !== 200) throw new Error(`${response.status} says nothing`)
      return (await response.json()) as CallOutput
    },
  })
}

function isNotSent(error: unknown): boolean {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) if (at instanceof NotSent) return true
  return false
}

/** Asks the receiver; now and then it cannot tell. */
export function verifyAt({ effects, chance, tally }: ToolParts, op: string): NonNullable<CallToolOf['verify']> {
  const asked = new Map<string, number>()
  return async ({ subject }, { key, fetch }) => {
    const n = (asked.get(key) ?? 0) + 1
    asked.set(key, n)
    if (chance.happens(0.15, 'verify', op, subject, n)) {
      tally.count('verifyUnknown')
      return unknown('the receiver is busy')
    }
    const response = await fetch(`${effects.url}/lookup/${op}/${encodeURIComponent(subject)}`, { headers: { 'idempotency-key': key } })
    tally.count(response.status === 200 ? 'verifyYes' : 'verifyNo')
    return response.status === 200 ? applied((await response.json()) as CallOutput) : notApplied()
  }
}

/** One row of `effects` in the ledger's own database. */
const transactionalTool = (name: string, op: string, undo?: { tool: AnyTool; input: (call: { input: CallInput }) => unknown }): CallToolOf => defineTool<CallInput, CallOutput>({
  ...common, name, description: 'One row.', effect: 'transactional', ...(undo ? { undo } : {}),
  async execute({ subject }, { tx }) {
    await tx.query('insert into effects (op, subject) values ($1, $2)', [op, subject])
    return { ref: `${op}-${subject}` }
  },
})

/** Each that can be undone is undone by one of its own class, `opaque` by a keyed one. */
export function chaosTools(parts: ToolParts): Record<CallTool, CallToolOf> {
  const same = { input: ({ input }: { input: CallInput }) => ({ subject: input.subject }) }
  const keyedUndo = effectTool(parts, { name: 'keyed.undo', via: 'keyed', op: 'undo', effect: 'idempotent', concurrent: true })
  const lookupUndo = effectTool(parts, { name: 'lookup.undo', via: 'lookup', op: 'undo', effect: 'non-idempotent', verify: verifyAt(parts, 'undo') })
  const undo = { tool: keyedUndo, ...same }
  return {
    read: effectTool(parts, { name: 'read', via: 'read', effect: 'read' }),
    keyed: effectTool(parts, { name: 'keyed', via: 'keyed', effect: 'idempotent', concurrent: true, undo }),
    shared: effectTool(parts, { name: 'shared', via: 'keyed', effect: 'idempotent', concurrent: true, key: ({ subject }) => [subject], undo }),
    keyedSlow: effectTool(parts, { name: 'keyed-slow', via: 'racy', effect: 'idempotent', undo }),
    asked: effectTool(parts, { name: 'asked', via: 'lookup', effect: 'non-idempotent', approval: 'always', verify: verifyAt(parts, 'do'), undo: { tool: lookupUndo, ...same } }),
    staged: effectTool(parts, { name: 'staged', via: 'racy', effect: 'idempotent', stage: true, undo }),
    lookup: effectTool(parts, { name: 'lookup', via: 'lookup', effect: 'non-idempotent', verify: verifyAt(parts, 'do'), undo: { tool: lookupUndo, ...same } }),
    opaque: effectTool(parts, { name: 'opaque', via: 'opaque', effect: 'non-idempotent', undo }),
    tx: transactionalTool('tx', 'do', { tool: transactionalTool('tx.undo', 'undo'), ...same }),
  }
}
