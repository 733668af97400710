/** The agent of the failpoint matrix: one call of the class in question, then one more, undone where the run is to be compensated; decided by code or by a model. */
import { agentLoop, defineAgent, type AnyAgent } from '@pawl/harness'
import { z } from 'zod'
import type { CallToolOf } from '../chaos/chaos-tools.ts'
import { plannedModel } from '../chaos/planned-model.ts'
import { CALL_TOOLS, KEPT_TOOLS, type CallTool } from '../chaos/run-plan.ts'

export const MATRIX_KINDS = ['work', 'split', 'compensate', 'think'] as const
/** What is called first; the other call of an item is `keyed`. */
export const MATRIX_TOOLS = [...CALL_TOOLS, ...KEPT_TOOLS] as const
export type MatrixKind = (typeof MATRIX_KINDS)[number]

export function matrixAgent(tools: Record<CallTool, CallToolOf>): AnyAgent {
  const inputSchema = z.object({ kind: z.enum(MATRIX_KINDS), tool: z.enum(MATRIX_TOOLS), subject: z.string() })
  const think = agentLoop({
    model: plannedModel((input) => {
      const { tool, subject } = inputSchema.parse(input)
      return [[{ tool, subject }], [{ tool: 'keyed', subject: `${subject} then` }]]
    }),
    system: 'You do what the plan says.',
  })
  return defineAgent({
    name: 'matrix', version: '1', tools,
    inputSchema, payloadSchema: z.null(),
    split: () => [{ key: 'only', payload: null }],
    async run({ input: { kind, tool, subject }, tools: call, ctx }) {
      if (kind === 'think') return await think({ ctx })
      // A call that is held back has no result yet.
      const first: { ref: string } | undefined = await call[tool]({ subject })
      if (kind === 'compensate') throw new Error('the rest cannot be done')
      const second = await call.keyed({ subject: `${subject} then` })
      return { result: [first?.ref ?? tool, second.ref] }
    },
    policy: { maxFailures: 1, onFailure: 'compensate' },
  })
}
