/** The work under which services are broken: runs of many items, each with a few counted calls. Plans come from the seed and the run's number. */
import { defineAgent, type AnyAgent } from '@pawl/harness'
import { z } from 'zod'
import type { Chance } from '../chaos/chance.ts'
import type { CallToolOf } from '../chaos/chaos-tools.ts'
import { CALL_TOOLS, type CallTool, type PlannedItem, type RunPlan } from '../chaos/run-plan.ts'

export interface LoadOptions {
  readonly itemsPerRun: number
  readonly callsPerItem: number
  /** An item rests so long, about, before each of its calls: it is live, and at nothing. */
  readonly paceMs: number
  readonly tools: readonly [CallTool, ...CallTool[]]
}

export const usualLoad: LoadOptions = { itemsPerRun: 50, callsPerItem: 2, paceMs: 400, tools: CALL_TOOLS }

export function planLoad(chance: Chance, { itemsPerRun, callsPerItem, tools }: LoadOptions, n: number): RunPlan {
  const items = Array.from({ length: itemsPerRun }, (_, i): PlannedItem => ({
    key: `item-${i}`, ending: 'done', steps: Array.from({ length: callsPerItem }, (__, s) => [{ tool: chance.pick(tools, 'tool', n, i, s), subject: `${n}.${i}.${s}` }]),
  }))
  return { n, kind: 'plain', items, last: { tool: 'keyed', subject: `${n}.last` } }
}

export function loadAgent(chance: Chance, load: LoadOptions, tools: Record<CallTool, CallToolOf>): AnyAgent {
  const plans = new Map<number, RunPlan>()
  const planOf = (n: number): RunPlan => {
    let plan = plans.get(n)
    if (!plan) plans.set(n, plan = planLoad(chance, load, n))
    return plan
  }
  return defineAgent({
    name: 'load', version: '1', inputSchema: z.object({ n: z.number() }), payloadSchema: z.object({ i: z.number() }), tools,
    split: ({ n }) => planOf(n).items.map((item, i) => ({ key: item.key, payload: { i } })),
    async run({ input: { n }, payload: { i }, tools: call }) {
      const refs: string[] = []
      for (const step of planOf(n).items[i]?.steps ?? []) {
        for (const { tool, subject } of step) {
          await new Promise((resolve) => setTimeout(resolve, load.paceMs * 2 * chance.draw('pace', subject)))
          refs.push((await call[tool]({ subject })).ref)
        }
      }
      return { result: refs }
    },
    async finalize({ input: { n }, tools: call }) {
      const { tool, subject } = planOf(n).last
      return { result: (await call[tool]({ subject })).ref }
    },
  })
}
