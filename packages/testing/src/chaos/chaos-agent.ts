/** The agent of a chaos run: it does what the plan of its run says, with a draw of its own that only `ctx.record` keeps the same over attempts. */
import { defineAgent, type AnyAgent } from '@pawl/harness'
import { z } from 'zod'
import type { Chance } from './chance.ts'
import type { CallToolOf } from './chaos-tools.ts'
import { planRun, type CallTool, type PlannedCall } from './run-plan.ts'

export function chaosAgent(chance: Chance, tools: Record<CallTool, CallToolOf>, isResumed: (n: number) => boolean): AnyAgent {
  return defineAgent({
    name: 'chaos', version: '1', inputSchema: z.object({ n: z.number() }), payloadSchema: z.object({ i: z.number() }), tools,
    split: ({ n }) => planRun(chance, n).items.map((item, i) => ({ key: item.key, payload: { i } })),
    async run({ input: { n }, payload: { i }, tools: call, ctx }) {
      const item = planRun(chance, n).items[i]
      if (!item) throw new Error(`run ${n} has no item ${i}`)
      const note = String(await ctx.record('draw', () => Math.random()))
      const refs: string[] = []
      for (const step of item.steps) {
        const answers = await Promise.all(step.map(({ tool, subject }: PlannedCall) => call[tool](tool === 'shared' ? { subject } : { subject, note })))
        refs.push(...answers.map(({ ref }) => ref))
      }
      if (item.ending === 'throws' || (item.ending === 'throws until resumed' && !isResumed(n))) throw new Error('this item cannot be done')
      return { result: refs }
    },
    async finalize({ input: { n }, tools: call }) {
      const { tool, subject } = planRun(chance, n).last
      return { result: (await call[tool]({ subject })).ref }
    },
  })
}
