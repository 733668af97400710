/**
 * What the harness's contract tests stand on: a ledger of their own, virtual workers, an effects server, and one tool per effect class
 * whose every receipt is counted outside.
 */
import { NotApplied } from '@pawl/core'
import { answerDoubt, wakeItems, type ActionRow } from '@pawl/ledger'
import { applied, defineTool, notApplied, type AnyTool, type Tool, type ToolDefinition } from '@pawl/tools'
import postgres from 'postgres'
import { z } from 'zod'
import { freshDatabase } from '../../../tests/setup/fixtures.ts'
import type { EffectClass } from '../../testing/src/effects-log.ts'
import { startEffectsServer, type EffectsServer } from '../../testing/src/effects-server.ts'
import { until, VirtualWorkers, type VirtualWorkersOptions } from '../../testing/src/virtual-workers.ts'
import type { AnyAgent } from './define-agent.ts'

export { until }

export const inputSchema = z.object({ subject: z.string(), note: z.string().optional() })
export const outputSchema = z.object({ ref: z.string() })
export type Input = z.infer<typeof inputSchema>
export type Output = z.infer<typeof outputSchema>
export type EffectTool = Tool<Input, Output>

type Definition = Omit<ToolDefinition<Input, Output>, 'inputSchema' | 'outputSchema' | 'execute' | 'version' | 'description'> & { via: EffectClass; op?: string; version?: string }

const refusals = new Set([400, 401, 429])

/** A tool over the effects server. What it may say about a send: 400, 401 and 429 prove it not applied, anything else but 200 proves nothing. */
export function effectTool(effects: EffectsServer, { via, op = 'do', ...definition }: Definition): EffectTool {
  return defineTool<Input, Output>({
    version: '1', description: 'A call whose receipts are counted.', timeout: 2_000, settleWindow: 200, inputSchema, outputSchema, ...definition,
    async execute(input, { key, epoch, attempt, fetch }) {
      const response = await fetch(`${effects.url}/${via}/${op}/${encodeURIComponent(input.subject)}`, {
        method: 'POST', body: JSON.stringify(input), headers: { 'idempotency-key': key, 'x-epoch': String(epoch), 'x-attempt': String(attempt) },
      })
      if (refusals.has(response.status)) {
        const after = response.headers.get('retry-after')
        throw new NotApplied(`${response.status}`, { rateLimited: response.status === 429, ...(after === null ? {} : { retryAfterMs: Number(after) * 1_000 }) })
      }
      if (response.status !== 200) throw new Error(`${response.status} says nothing`)
      return (await response.json()) as Output
    },
  })
}

const verifyAt = (effects: EffectsServer, op: string): NonNullable<ToolDefinition<Input, Output>['verify']> => async (input, { key, fetch }) => {
  const response = await fetch(`${effects.url}/lookup/${op}/${encodeURIComponent(input.subject)}`, { headers: { 'idempotency-key': key } })
  return response.status === 200 ? applied((await response.json()) as Output) : notApplied()
}

/** Writes one row of `effects` in the ledger's own database. */
const transactionalTool = (name: string, op: string, undo?: { tool: AnyTool; input: (call: { input: Input; result: Output }) => unknown }): EffectTool => defineTool<Input, Output>({
  name, version: '1', description: 'One row.', effect: 'transactional', timeout: 2_000, inputSchema, outputSchema, ...(undo ? { undo } : {}),
  async execute(input, { tx }) {
    await tx.query('insert into effects (op, subject) values ($1, $2)', [op, input.subject])
    return { ref: `${op}-${input.subject}` }
  },
})

export type ToolClass = 'read' | 'keyed' | 'keyedSlow' | 'lookup' | 'opaque' | 'tx'
export const toolClasses: readonly ToolClass[] = ['read', 'keyed', 'keyedSlow', 'lookup', 'opaque', 'tx']

/** One tool per effect class; each that can be undone is undone by one of its own class (`opaque` by a keyed one). */
export function effectTools(effects: EffectsServer): Record<ToolClass, EffectTool> {
  const same = { input: ({ input }: { input: Input }) => ({ subject: input.subject }) }
  const keyedUndo = effectTool(effects, { name: 'keyed.undo', via: 'keyed', op: 'undo', effect: 'idempotent', concurrent: true })
  const lookupUndo = effectTool(effects, { name: 'lookup.undo', via: 'lookup', op: 'undo', effect: 'non-idempotent', verify: verifyAt(effects, 'undo') })
  return {
    read: effectTool(effects, { name: 'read', via: 'read', effect: 'read' }),
    keyed: effectTool(effects, { name: 'keyed', via: 'keyed', effect: 'idempotent', concurrent: true, undo: { tool: keyedUndo, ...same } }),
    keyedSlow: effectTool(effects, { name: 'keyed-slow', via: 'racy', effect: 'idempotent', undo: { tool: keyedUndo, ...same } }),
    lookup: effectTool(effects, { name: 'lookup', via: 'lookup', effect: 'non-idempotent', verify: verifyAt(effects, 'do'), undo: { tool: lookupUndo, ...same } }),
    opaque: effectTool(effects, { name: 'opaque', via: 'opaque', effect: 'non-idempotent', undo: { tool: keyedUndo, input: ({ input, result }) => ({ subject: input.subject, note: result.ref }) } }),
    tx: transactionalTool('tx', 'do', { tool: transactionalTool('tx.undo', 'undo'), ...same }),
  }
}

type Row = Record<string, unknown>

export interface ItemNow {
  readonly seq: number
  readonly kind: string
  readonly key: string
  readonly status: string
  readonly blocked_reason: string | null
  readonly blocked_detail: string | null
  readonly attempts: number
  readonly failures: number
  readonly barren_attempts: number
  readonly error: string | null
  readonly result: string | null
}

export class World {
  private constructor(
    readonly url: string, readonly effects: EffectsServer, readonly tools: Record<ToolClass, EffectTool>, readonly workers: VirtualWorkers,
    private readonly sql: postgres.Sql, private readonly drop: () => Promise<void>,
  ) {}

  /** @param agents built over the world's tools and server. */
  static async open(
    agents: (tools: Record<ToolClass, EffectTool>, effects: EffectsServer) => readonly AnyAgent[], options: Partial<VirtualWorkersOptions> & { via?: (url: string) => Promise<string> } = {},
  ): Promise<World> {
    const database = await freshDatabase()
    const effects = await startEffectsServer()
    const tools = effectTools(effects)
    const url = options.via ? await options.via(database.url) : database.url
    const workers = await VirtualWorkers.open({ url, agents: agents(tools, effects), ...options })
    const sql = postgres(database.url, { max: 2, onnotice: () => {} })
    await sql`create table effects (op text, subject text)`
    return new World(database.url, effects, tools, workers, sql, () => database.drop())
  }

  async close(): Promise<void> {
    await this.effects.close()
    await this.workers.close()
    await this.sql.end({ timeout: 1 })
    await this.drop()
  }

  async rows<R extends Row = Row>(text: string, params: readonly (string | number | null)[] = []): Promise<R[]> {
    return [...(await this.sql.unsafe<R[]>(text, [...params]))]
  }

  async items(runId: string): Promise<ItemNow[]> {
    return await this.rows<ItemNow & Row>('select * from pawl.items where run_id = $1 order by seq', [runId])
  }

  async item(runId: string, seq = 1): Promise<ItemNow> {
    const [row] = await this.rows<ItemNow & Row>('select * from pawl.items where run_id = $1 and seq = $2', [runId, seq])
    if (!row) throw new Error(`no item ${seq} in run ${runId}`)
    return row
  }

  async actions(runId: string): Promise<ActionRow[]> {
    return (await this.rows<{ action: ActionRow }>('select row_to_json(a.*) as action from pawl.actions a where run_id = $1 order by order_no', [runId])).map((row) => row.action)
  }

  /** Effects about a subject, wherever they are counted. */
  async applied(subject: string, op = 'do'): Promise<number> {
    const [row] = await this.rows<{ n: number }>('select count(*)::integer as n from effects where subject = $1 and op = $2', [subject, op])
    return this.effects.effects({ subject, op }) + (row?.n ?? 0)
  }

  /** Some item of the run is blocked for this reason; returns it. */
  async blocked(runId: string, reason: string): Promise<ItemNow> {
    let found: ItemNow | undefined
    let seen: unknown
    await until(`an item of ${runId} is blocked: ${reason}`, async () => {
      const items = await this.items(runId)
      seen = items.map((item) => `${item.key} ${item.status} ${item.blocked_reason ?? ''} ${item.error ?? ''}`)
      found = items.find((item) => item.status === 'blocked' && item.blocked_reason === reason)
      return found !== undefined
    }, 60_000, () => JSON.stringify(seen))
    return found as ItemNow
  }

  /** A person answers what is in doubt, as soon as the wait allows it, to exactly what they were shown. */
  async answer(runId: string, answer: 'happened' | 'did_not' | 'abandon', result?: string): Promise<void> {
    await this.blocked(runId, 'in_doubt')
    await until('the doubt is answered', async () => {
      const action = (await this.actions(runId)).find((one) => one.status === 'in_doubt')
      if (!action) return false
      const { outcome } = await answerDoubt(this.workers.ledger, runId, action.id, { attempt: action.attempt, evidence: action.evidence.length, answer, result: result ?? null, actor: 'ann' })
      if (outcome !== 'answered' && outcome !== 'too_early') throw new Error(`the answer was refused: ${outcome}`)
      return outcome === 'answered'
    })
    await wakeItems(this.workers.ledger, runId)
    this.workers.touch(runId)
  }
}
