/** An agent whose code each test brings along: what a run does is looked up by the script its input names. */
import { newRunId } from '@pawl/core'
import type { RunPolicy } from '@pawl/ledger'
import type { ToolMap } from '@pawl/tools'
import { z } from 'zod'
import { defineAgent, type Agent, type AgentContext, type ItemOutcome, type ItemSeed, type RunFacts, type RunTally, type ToolCalls } from './define-agent.ts'
import type { World } from './world.testsuite.ts'

const inputSchema = z.object({ script: z.string() })

export interface Script<M extends ToolMap> {
  run(call: { readonly payload: unknown; readonly tools: ToolCalls<M>; readonly ctx: AgentContext }): Promise<ItemOutcome | void>
  finalize?(call: { readonly run: RunFacts & { readonly tally: RunTally }; readonly tools: ToolCalls<M>; readonly ctx: AgentContext }): Promise<{ result?: unknown } | void>
  split?(): AsyncIterable<ItemSeed<unknown>> | Iterable<ItemSeed<unknown>>
}

export class Scripts<M extends ToolMap> {
  readonly agent: Agent<z.infer<typeof inputSchema>, unknown, M>
  readonly #scripts = new Map<string, Script<M>>()

  constructor(tools: M, name = 'scripted') {
    const script = (id: string): Script<M> => {
      const found = this.#scripts.get(id)
      if (!found) throw new Error(`no script ${id}`)
      return found
    }
    this.agent = defineAgent({
      name, version: '1', inputSchema, payloadSchema: z.unknown(), tools,
      async* split(input) { yield* script(input.script).split?.() ?? [] },
      run: ({ input, ...call }) => script(input.script).run(call),
      finalize: async ({ input, ...call }) => await script(input.script).finalize?.(call),
    })
  }

  /** Puts other code behind a run that exists: what a deploy does. */
  replace(runId: string, script: Script<M>): void {
    this.#scripts.set(runId, script)
  }

  /** Starts a run of one item, or of the items given; without any when the script splits. The id may be fixed first, to arm a fault. */
  async start(world: World, script: Script<M>, options: { id?: string; items?: readonly ItemSeed<unknown>[]; policy?: Partial<RunPolicy>; rings?: boolean } = {}): Promise<string> {
    const { id = newRunId(), policy = {}, rings = true } = options
    this.#scripts.set(id, script)
    const items = options.items ?? (script.split ? undefined : [{ key: 'only', payload: null }])
    return await world.workers.startRun(this.agent, { script: id }, { id, policy, rings, ...(items ? { items } : {}) })
  }
}
