/**
 * What a case plays on: a ledger of its own, virtual workers, an effects server that counts, one tool per promise, and an agent whose code the
 * case brings along. The windows are the caller's, so that the fast and the literal form are one function.
 */
import { limits, newRunId, NotApplied } from '@pawl/core'
import { defaultTimings, defineAgent, type Agent, type AgentContext, type ItemOutcome, type ItemSeed, type Timings, type ToolCalls } from '@pawl/harness'
import { answerDoubt, wakeItems, type ActionRow, type RunPolicy } from '@pawl/ledger'
import { applied, defineTool, notApplied, type Tool, type ToolDefinition } from '@pawl/tools'
import { z } from 'zod'
import type { EffectClass } from '../effects-log.ts'
import { startEffectsServer, type EffectsServer } from '../effects-server.ts'
import { shortTimings, until, VirtualWorkers } from '../virtual-workers.ts'

const inputSchema = z.object({ subject: z.string(), note: z.string().optional() })
const outputSchema = z.object({ ref: z.string() })
export type EffectInput = z.infer<typeof inputSchema>
export type EffectTool = Tool<EffectInput, z.infer<typeof outputSchema>>
type Definition = Omit<ToolDefinition<EffectInput, z.infer<typeof outputSchema>>, 'inputSchema' | 'outputSchema' | 'execute' | 'version' | 'description'>

export interface EffectToolOptions extends Definition {
  readonly via: EffectClass
  /** What the request says. Default: the input. */
  readonly body?: (input: EffectInput) => string
  /** Runs where the tool's own code would, before the request. */
  readonly before?: (input: EffectInput) => Promise<void>
}

/** 400, 401 and 429 prove that this send was not applied; anything else but 200 proves nothing. */
export function effectTool(effects: EffectsServer, { via, body = JSON.stringify, before, ...definition }: EffectToolOptions): EffectTool {
  return defineTool({
    version: '1', description: 'A call whose receipts are counted.', inputSchema, outputSchema, ...definition,
    async execute(input, { key, epoch, attempt, fetch }) {
      await before?.(input)
      const response = await fetch(`${effects.url}/${via}/do/${encodeURIComponent(input.subject)}`, {
        method: 'POST', body: body(input), headers: { 'idempotency-key': key, 'x-epoch': String(epoch), 'x-attempt': String(attempt) },
      })
      if ([400, 401, 429].includes(response.status)) throw new NotApplied(`refused with ${response.status}`)
      if (response.status !== 200) throw new Error(`${response.status} says nothing`)
      return outputSchema.parse(await response.json())
    },
  })
}

export function verifyAt(effects: EffectsServer): NonNullable<EffectTool['verify']> {
  return async ({ subject }, { key, fetch }) => {
    const response = await fetch(`${effects.url}/lookup/do/${encodeURIComponent(subject)}`, { headers: { 'idempotency-key': key } })
    return response.status === 200 ? applied(outputSchema.parse(await response.json())) : notApplied()
  }
}

export type CaseTool = 'read' | 'keyed' | 'lookup' | 'opaque'
export const caseTools: readonly CaseTool[] = ['read', 'keyed', 'lookup', 'opaque']

/** How long its calls may take, and how long an effect may stay invisible. */
export interface ToolWindows {
  readonly timeoutMs: number
  readonly settleWindowMs: number
}
/** Of the fast forms. */
export const shortWindows: ToolWindows = { timeoutMs: 800, settleWindowMs: 100 }
/** Of the literal forms: what a tool gets that says nothing. */
export const fullWindows: ToolWindows = { timeoutMs: limits.toolTimeoutMs, settleWindowMs: limits.settleWindowMs }

/** One tool per promise a receiver can make. */
export function toolsByPromise(effects: EffectsServer, windows: ToolWindows, before?: EffectToolOptions['before']): Record<CaseTool, EffectTool> {
  const common = { timeout: windows.timeoutMs, settleWindow: windows.settleWindowMs, ...(before ? { before } : {}) }
  return {
    read: effectTool(effects, { ...common, name: 'read', via: 'read', effect: 'read' }),
    keyed: effectTool(effects, { ...common, name: 'keyed', via: 'keyed', effect: 'idempotent', concurrent: true }),
    lookup: effectTool(effects, { ...common, name: 'lookup', via: 'lookup', effect: 'non-idempotent', verify: verifyAt(effects) }),
    opaque: effectTool(effects, { ...common, name: 'opaque', via: 'opaque', effect: 'non-idempotent' }),
  }
}

export type CaseCode<T extends string> = (call: { readonly payload: unknown; readonly tools: ToolCalls<Record<T, EffectTool>>; readonly ctx: AgentContext }) => Promise<ItemOutcome | void>

/** Code of whatever tools: a stage with more tools than a case asks for will do. */
type AnyCode = (call: never) => Promise<ItemOutcome | void>

export interface StageOptions<T extends string> {
  /** Of an empty database. */
  readonly url: string
  readonly tools: (effects: EffectsServer) => Record<T, EffectTool>
  /** Absent: the short ones. */
  readonly timings?: Timings
  readonly workers?: number
  readonly concurrency?: number
  /** Where doorbells go. Absent: the Postgres queue. */
  readonly redisUrl?: string
}

export interface ItemNow {
  readonly seq: number
  readonly kind: string
  readonly key: string
  readonly status: string
  readonly blocked_reason: string | null
  readonly blocked_detail: string | null
  readonly attempts: number
  readonly failures: number
  readonly epoch: number
  readonly result: string | null
}

export class CaseStage<T extends string> {
  readonly #code: Map<string, AnyCode>

  private constructor(readonly effects: EffectsServer, readonly tools: Record<T, EffectTool>, readonly agent: Agent<{ code: string }, unknown, Record<T, EffectTool>>, code: Map<string, AnyCode>, readonly workers: VirtualWorkers, readonly timings: Timings) {
    this.#code = code
  }

  static async open<T extends string>(options: StageOptions<T>): Promise<CaseStage<T>> {
    const { url, timings = shortTimings, workers = 2, concurrency = 100, redisUrl } = options
    const effects = await startEffectsServer()
    const tools = options.tools(effects)
    const code = new Map<string, AnyCode>()
    const agent = defineAgent({
      name: 'case', version: '1', inputSchema: z.object({ code: z.string() }), payloadSchema: z.unknown(), tools,
      run: ({ input, ...call }) => {
        const found = code.get(input.code)
        if (!found) throw new Error(`the case has no code ${input.code}`)
        return found(call as never)
      },
    })
    const fleet = await VirtualWorkers.open({ url, agents: [agent], workers, concurrency, timings, ...(redisUrl === undefined ? {} : { redisUrl }) })
    return new CaseStage(effects, tools, agent, code, fleet, timings)
  }

  async close(): Promise<void> {
    await this.effects.close()
    await this.workers.close()
  }

  /** Other code behind a run that exists: what a deploy does. */
  replace(runId: string, code: CaseCode<T>): void {
    this.#code.set(runId, code)
  }

  /** A run of one item, or of the items given. The id may be fixed first, to arm a fault. */
  async start(code: CaseCode<T>, options: { id?: string; items?: readonly ItemSeed<unknown>[]; policy?: Partial<RunPolicy> } = {}): Promise<string> {
    const { id = newRunId(), items = [{ key: 'only', payload: null }], policy = {} } = options
    this.#code.set(id, code)
    return await this.workers.startRun(this.agent, { code: id }, { id, items, policy })
  }

  async rows<R extends Record<string, unknown>>(text: string, params: readonly (string | number | null)[] = []): Promise<R[]> {
    return await this.workers.ledger.query<R>(text, params)
  }

  async items(runId: string): Promise<ItemNow[]> {
    return await this.rows<ItemNow & Record<string, unknown>>('select * from pawl.items where run_id = $1 order by seq', [runId])
  }

  async item(runId: string, seq = 1): Promise<ItemNow> {
    const found = (await this.items(runId)).find((item) => item.seq === seq)
    if (!found) throw new Error(`no item ${seq} in run ${runId}`)
    return found
  }

  async actions(runId: string): Promise<ActionRow[]> {
    return (await this.rows<{ action: ActionRow }>('select row_to_json(a.*) as action from pawl.actions a where run_id = $1 order by order_no', [runId])).map((row) => row.action)
  }

  receipts(subject: string): number {
    return this.effects.receipts({ subject }).length
  }

  applied(subject: string): number {
    return this.effects.effects({ subject })
  }

  /** The item once it waits for a person, for this reason. */
  async blocked(runId: string, reason: string, deadlineMs = 60_000): Promise<ItemNow> {
    let found: ItemNow | undefined
    let seen = ''
    await until(`an item is blocked: ${reason}`, async () => {
      const items = await this.items(runId)
      seen = items.map((item) => `${item.key} ${item.status} ${item.blocked_reason ?? ''} after ${item.attempts}`).join(', ')
      found = items.find((item) => item.status === 'blocked' && item.blocked_reason === reason)
      return found !== undefined
    }, deadlineMs, () => seen)
    return found as ItemNow
  }

  /** A person answers what is in doubt, as soon as the wait allows it. */
  async answer(runId: string, answer: 'happened' | 'did_not', result: string | null = null, deadlineMs = 60_000): Promise<void> {
    await this.blocked(runId, 'in_doubt', deadlineMs)
    await until('the doubt is answered', async () => {
      const action = (await this.actions(runId)).find((one) => one.status === 'in_doubt')
      if (!action) return false
      const { outcome } = await answerDoubt(this.workers.ledger, runId, action.id, { attempt: action.attempt, evidence: action.evidence.length, answer, result, actor: 'a person' })
      return outcome === 'answered'
    }, deadlineMs)
    await wakeItems(this.workers.ledger, runId)
    this.workers.touch(runId)
  }
}

/** Plays on a stage and takes it down whatever happens. */
export async function onStage<T extends string, R>(options: StageOptions<T>, play: (stage: CaseStage<T>) => Promise<R>): Promise<R> {
  const stage = await CaseStage.open(options)
  try {
    return await play(stage)
  } finally {
    await stage.close()
  }
}

/** The stage of a literal form: default timings and windows. */
export async function onFullStage<R>(url: string, play: (stage: CaseStage<CaseTool>) => Promise<R>, options: { workers?: number; before?: EffectToolOptions['before'] } = {}): Promise<R> {
  const { workers = 2, before } = options
  return await onStage({ url, timings: defaultTimings, workers, tools: (effects) => toolsByPromise(effects, fullWindows, before) }, play)
}
