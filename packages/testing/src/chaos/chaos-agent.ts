/**
 * The agent of a chaos run: it does what the plan of its run says, with a draw of its own that only `ctx.record` keeps the same over attempts. Of every second item
 * a model decides, which words its calls anew on every request: only the record of its turns keeps them the same.
 */
import { agentLoop, defineAgent, type AnyAgent } from '@pawl/harness'
import { z } from 'zod'
import type { Chance } from './chance.ts'
import type { CallToolOf } from './chaos-tools.ts'
import { plannedModel } from './planned-model.ts'
import { planRun, type CallTool, type PlannedCall } from './run-plan.ts'

export function chaosAgent(chance: Chance, tools: Record<CallTool, CallToolOf>, isResumed: (n: number) => boolean): AnyAgent {
  const inputSchema = z.object({ n: z.number() })
  const payloadSchema = z.object({ i: z.number() })
  const think = agentLoop({
    model: plannedModel((input, payload) => planRun(chance, inputSchema.parse(input).n).items[payloadSchema.parse(payload).i]?.steps ?? []),
    system: 'You do what the plan says.', contextTokens: 100_000,
  })
  return defineAgent({
    name: 'chaos', version: '1', inputSchema, payloadSchema, tools,
    split: ({ n }) => planRun(chance, n).items.map((item, i) => ({ key: item.key, payload: { i } })),
    async run({ input: { n }, payload: { i }, tools: call, ctx }) {
      const item = planRun(chance, n).items[i]
      if (!item) throw new Error(`run ${n} has no item ${i}`)
      if (i % 2 === 1) return await think({ ctx })
      const note = String(await ctx.record('draw', () => Math.random()))
      const refs: string[] = []
      for (const step of item.steps) {
        const answers = await Promise.all(step.map(({ tool, subject }: PlannedCall) => call[tool](tool === 'shared' ? { subject } : { subject, note })))
        // A staged call has no result yet.
        refs.push(...answers.map((answer: { ref: string } | undefined) => answer?.ref ?? 'staged'))
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
