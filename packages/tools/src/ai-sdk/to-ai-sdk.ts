/**
 * The tools of an attempt for somebody else's loop (`generateText` inside an agent's `run`). Each call goes through the same bracket as
 * `tools.x()`: intent, guard, completion, approval. What the loop does itself is outside: it asks the model again on every attempt, and a model
 * that decides otherwise meets its own journal (`diverged`, `conflict`) instead of sending twice. `agentLoop` records decisions; this does not.
 *
 * The model's `toolCallId` is never the key: it is another one on every request. A tool without `key` is keyed by the order of its calls in the
 * item, and a loop that runs calls beside each other need not begin them in the same order again. Give tools that change something a `key`.
 */
import { PawlError } from '@pawl/core'
import { tool as aiTool, type ToolSet } from 'ai'
import { toolOfCall } from '../bound-call.ts'

/** @param tools what `run` got as `tools`, or a part of it. Names stay as they are there. Throws `BAD_TOOL` for anything else. */
export function toAiSdk(tools: Readonly<Record<string, unknown>>): ToolSet {
  return Object.fromEntries(Object.entries(tools).map(([name, call]) => {
    const definition = toolOfCall(call)
    if (!definition) throw new PawlError('BAD_TOOL', `toAiSdk: "${name}" is not one of the tools an agent's run was given. Pass run's tools, not their definitions: a definition's execute has no bracket around it.`, 'fail', { tool: name })
    return [name, aiTool({
      description: definition.description,
      inputSchema: definition.inputSchema as never,
      execute: (async (input: unknown) => await (call as (input: unknown) => Promise<unknown>)(input)) as never,
    })]
  })) as ToolSet
}
