/**
 * A ledger, a queue, workers and counted receivers for one case, in its fast and its literal form alike. What an agent does is handed in with
 * its run. Workers share this process: a crash is an attempt that stands still for ever, a death is a worker that does nothing any more.
 */
import { createClient, type ItemSeed, type PawlClient, type Run, type StartOptions } from '@pawl/client'
import { newId } from '@pawl/core'
import { defineAgent, dispatchRun, Harness, type Agent, type AgentContext, type AnyAgent, type FailpointName, type FailpointPlace, type ItemOutcome, type RunFacts, type RunTally, type Timings, type ToolCalls } from '@pawl/harness'
import { Ledger, migrateLedger, readIdentity, type ActionRow } from '@pawl/ledger'
import { connectQueue, type Queue } from '@pawl/queue'
import { z } from 'zod'
import { startEffectsServer, type EffectsServer } from '../effects-server.ts'
import { shortTimings, until } from '../virtual-workers.ts'
import { caseTools, type CaseTools, type ToolWindows } from './case-tools.ts'
import { Findings } from './findings.ts'
import type { CaseOutcome, CaseServices } from './literal-case.ts'

export { until }

export interface CaseScript {
  run(call: { readonly payload: unknown; readonly tools: ToolCalls<CaseTools>; readonly ctx: AgentContext }): Promise<ItemOutcome | void>
  finalize?(call: { readonly run: RunFacts & { readonly tally: RunTally }; readonly tools: ToolCalls<CaseTools>; readonly ctx: AgentContext }): Promise<{ result?: unknown } | void>
}

export interface GroundOptions {
  readonly workers?: number
  readonly concurrency?: number
  readonly timings?: Partial<Timings>
  readonly windows?: Partial<ToolWindows>
  /** Default: the queue in the ledger's database. */
  readonly redisUrl?: string
  /** Of the workers' connection, where it is not the ledger's own address: through a door, for example. */
  readonly workersUrl?: string
}

/** Asked at every failpoint of every worker; what it awaits is held up. */
export type Hook = (name: FailpointName, place: FailpointPlace, worker: number) => void | Promise<void>

interface Facts { readonly [column: string]: unknown }

const inputSchema = z.object({ script: z.string() })

export class CaseGround {
  readonly workers: Harness[] = []
  readonly agent: Agent<z.infer<typeof inputSchema>, unknown, CaseTools>
  readonly client: PawlClient
  hook: Hook = () => {}
  readonly #scripts = new Map<string, CaseScript>()
  readonly #dead = new Set<number>()

  private constructor(
    readonly url: string, readonly ledger: Ledger, readonly queue: Queue, readonly ledgerId: string, readonly effects: EffectsServer,
    private readonly workersLedger: Ledger, private readonly options: GroundOptions,
  ) {
    const script = (id: string): CaseScript => {
      const found = this.#scripts.get(id)
      if (!found) throw new Error(`no script ${id}`)
      return found
    }
    this.agent = defineAgent({
      name: 'case', version: '1', inputSchema, payloadSchema: z.unknown(), tools: caseTools(effects, { timeoutMs: 2_000, settleWindowMs: 200, ...options.windows }),
      run: ({ input, ...call }) => script(input.script).run(call),
      finalize: async ({ input, ...call }) => await script(input.script).finalize?.(call),
    })
    this.client = createClient({ ledger, agents: [this.agent], dispatch: (runId) => dispatchRun({ ledger, queue, ledgerId }, runId), onDispatchError: () => {} })
  }

  /** @param url an empty database. */
  static async open(url: string, options: GroundOptions = {}): Promise<CaseGround> {
    const ledger = new Ledger({ url, name: 'case', connections: 4 })
    await migrateLedger(ledger)
    const { id } = await readIdentity(ledger)
    const workersUrl = options.workersUrl ?? url
    const queue = connectQueue({ ...(options.redisUrl === undefined ? { backend: 'postgres', url: workersUrl } : { backend: 'redis', url: options.redisUrl }), ledgerId: id, onError: () => {} })
    await queue.ready()
    const workersLedger = new Ledger({ url: workersUrl, name: 'case workers', connections: 6 })
    const ground = new CaseGround(url, ledger, queue, id, await startEffectsServer(), workersLedger, options)
    for (let n = 0; n < (options.workers ?? 2); n++) await ground.startWorker()
    return ground
  }

  async startWorker(options: { name?: string; agents?: readonly AnyAgent[]; ledger?: Ledger } = {}): Promise<Harness> {
    const which = this.workers.length
    const harness = await Harness.start({
      ledger: options.ledger ?? this.workersLedger, queue: this.queue, agents: options.agents ?? [this.agent], concurrency: this.options.concurrency ?? 50, roles: ['items', 'splits'],
      name: options.name ?? `case-${which}`, timings: { ...shortTimings, ...this.options.timings }, log: () => {},
      failpoint: (name, place) => (this.#dead.has(which) ? new Promise(() => {}) : this.hook(name, place, which)),
    })
    this.workers.push(harness)
    return harness
  }

  /** The worker dies where it stands: it renews, claims and writes nothing any more. */
  kill(which: number): void {
    this.#dead.add(which)
    this.workers[which]?.abandon()
  }

  killAll(): void {
    for (const which of this.workers.keys()) this.kill(which)
  }

  /** Ends what still works, so that the next case starts its own. */
  async stopAll(): Promise<void> {
    await Promise.all(this.workers.filter((_, which) => !this.#dead.has(which)).map((worker) => worker.stop(1_000)))
  }

  /** A run of one item, or of the items given. */
  async start(script: CaseScript, options: StartOptions<unknown> & { scriptId?: string } = {}): Promise<string> {
    const { scriptId = newId(), ...given } = options
    this.#scripts.set(scriptId, script)
    const { id } = await this.client.startRun(this.agent, { script: scriptId }, { items: [{ key: 'only', payload: null }], ...given })
    return id
  }

  /** Puts other code behind a run that exists: what a deploy does. */
  async replace(runId: string, script: CaseScript): Promise<void> {
    const { input } = await this.client.getRun(runId)
    this.#scripts.set(inputSchema.parse(input).script, script)
  }

  /** The run once it is in one of these states. */
  async runIs(runId: string, statuses: readonly Run['status'][], withinMs = 60_000): Promise<Run> {
    let run: Run | undefined
    await until(`run ${runId} is ${statuses.join(' or ')}`, async () => {
      run = await this.client.getRun(runId)
      return statuses.includes(run.status)
    }, withinMs, () => JSON.stringify(run))
    return run as Run
  }

  async rows<R extends Facts = Facts>(text: string, params: readonly (string | number | null)[] = []): Promise<R[]> {
    return [...(await this.ledger.query<R>(text, params))]
  }

  async actions(runId: string): Promise<ActionRow[]> {
    return (await this.rows<{ action: ActionRow }>('select row_to_json(a.*) as action from pawl.actions a where run_id = $1 order by order_no', [runId])).map((row) => row.action)
  }

  /** How often each run.ended event was written. */
  async endings(runId: string): Promise<number> {
    return (await this.rows(`select 1 from pawl.events where run_id = $1 and kind = 'run.ended'`, [runId])).length
  }

  /** Effects of one operation about subjects that begin so, in the order in which they were applied. */
  applied(start: string, op = 'do'): string[] {
    return this.effects.receipts({ op }).filter((receipt) => receipt.applied && receipt.subject.startsWith(start)).map((receipt) => receipt.subject)
  }

  touch(runId: string): void {
    for (const worker of this.workers) worker.touch(runId)
  }

  async close(): Promise<void> {
    this.hook = () => {}
    await this.effects.close()
    await this.stopAll()
    await this.queue.close()
    await this.workersLedger.close()
    await this.ledger.close()
  }
}

export const seeds = (n: number): ItemSeed[] => Array.from({ length: n }, (_, i) => ({ key: `item ${i}`, payload: i }))

/** How often each of these was met, beyond the first time. */
export function repeats(all: readonly string[]): number {
  return all.length - new Set(all).size
}

/** Plays on a ground of its own and takes it down whatever happens. */
export async function onGround(services: CaseServices, options: GroundOptions, play: (ground: CaseGround, found: Findings) => Promise<void>): Promise<CaseOutcome> {
  const ground = await CaseGround.open(await services.freshDatabase(), options)
  const found = new Findings()
  try {
    await play(ground, found)
  } finally {
    await ground.close()
  }
  return found.outcome()
}
