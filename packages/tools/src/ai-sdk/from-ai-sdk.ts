/**
 * A tool written for the AI SDK as a Pawl tool. What it does to the world is not in its definition: the operator says it here, and answers for
 * it. `needsApproval` is carried over where it is `true` and nothing else was said; a function of the SDK's would be asked by nobody.
 */
import { PawlError } from '@pawl/core'
import { asSchema, type Tool as AiTool } from 'ai'
import { z } from 'zod'
import { defineTool, type ExecuteContext, type Tool, type ToolDefinition } from '../define-tool.ts'
import { zodFromJsonSchema } from '../json-schema.ts'
import { isStandard, zodFromStandard } from './standard-schema.ts'

type Given = 'name' | 'version' | 'keyWindow' | 'concurrent' | 'precondition' | 'guarded' | 'key' | 'timeout' | 'retry' | 'verify' | 'settleWindow' | 'undo' | 'irreversible' | 'approval' | 'stage'

export interface FromAiSdkOptions<I, R> extends Pick<ToolDefinition<I, R>, Given> {
  readonly effect: 'read' | 'idempotent' | 'non-idempotent'
  /** Default: the tool's own. */
  readonly description?: string
  /** Default: the tool's own, or any value the ledger can keep. */
  readonly outputSchema?: z.ZodType<R>
}

/** What the tool finds in `experimental_context` (`ai` 6) and in `context` (`ai` 7). */
export type PawlToolContext = Pick<ExecuteContext, 'key' | 'guard' | 'fetch' | 'note' | 'attempt' | 'runId' | 'itemKey'>

/** What either version gives a tool with a call. */
interface AiCallOptions {
  readonly toolCallId: string
  readonly messages: readonly never[]
  readonly abortSignal: AbortSignal
  readonly experimental_context: PawlToolContext
  readonly context: PawlToolContext
}

type Refuse = (sentence: string) => never

/** Throws `BAD_TOOL` for a tool without `execute`, with a function as `needsApproval` and no `approval`, with one as its description and no `description`, or with a schema that is only promised. */
export function fromAiSdk<I, R>(tool: AiTool<I, R>, options: FromAiSdkOptions<I, R>): Tool<I, R> {
  const { outputSchema, description, ...handling } = options
  const refuse: Refuse = (sentence) => { throw new PawlError('BAD_TOOL', `Tool "${options.name}" (from the AI SDK): ${sentence}`, 'crash', { tool: options.name }) }
  const execute = tool.execute?.bind(tool) as ((input: I, options: AiCallOptions) => unknown) | undefined
  if (!execute) return refuse('it has no execute. What a provider or a browser carries out cannot be bracketed; give it an execute.')
  if (typeof tool.needsApproval === 'function' && options.approval === undefined) refuse('its needsApproval is a function, which nobody would ask here. Say in approval when a person is asked.')
  const own: unknown = tool.description ?? ''
  const told = description ?? (typeof own === 'string' ? own : refuse('its description is a function of a context that is not there before the call. Say description.'))
  return defineTool<I, R>({
    ...handling,
    ...(options.approval === undefined && tool.needsApproval === true ? { approval: 'always' as const } : {}),
    description: told,
    inputSchema: zodOf<I>(tool.inputSchema, refuse),
    outputSchema: outputSchema ?? (tool.outputSchema === undefined ? (z.unknown() as z.ZodType<R>) : zodOf<R>(tool.outputSchema, refuse)),
    async execute(input, { signal, key, guard, fetch, note, attempt, runId, itemKey }) {
      const context: PawlToolContext = { key, guard, fetch, note, attempt, runId, itemKey }
      // The key stands where the model's call id would: it is the same on every send of this call.
      return (await lastOf(execute(input, { toolCallId: key, messages: [], abortSignal: signal, experimental_context: context, context }))) as R
    },
  })
}

/** A tool that streams gives its result last. */
async function lastOf(answer: unknown): Promise<unknown> {
  const value: unknown = await answer
  if (value === null || typeof value !== 'object' || !(Symbol.asyncIterator in value)) return value
  let last: unknown
  for await (const part of value as AsyncIterable<unknown>) last = part
  return last
}

/** zod as it is; any other standard schema by its own validation; the SDK's `jsonSchema()` by what it describes. */
function zodOf<T>(schema: Parameters<typeof asSchema>[0], refuse: Refuse): z.ZodType<T> {
  if (schema instanceof z.ZodType) return schema as z.ZodType<T>
  const { jsonSchema } = asSchema(schema)
  if (typeof (jsonSchema as { then?: unknown }).then === 'function') return refuse('its schema is only promised. Await it, and hand over jsonSchema(await …).')
  const shown = jsonSchema as Readonly<Record<string, unknown>>
  return isStandard(schema) ? zodFromStandard<T>(schema, shown) : zodFromJsonSchema<T>(shown)
}
