/**
 * A tool's call as an agent gets it, with the definition behind it. Adapters for somebody else's loop need the description and the schema
 * beside the function, and must call through the function: it is the one with the bracket around it.
 */
import type { AnyTool } from './define-tool.ts'

const definitionOf = Symbol.for('pawl.tool.definition')

export type BoundCall = (input: unknown, options?: { key?: string }) => Promise<unknown>

export const bindCall = (tool: AnyTool, call: BoundCall): BoundCall => Object.defineProperty(call, definitionOf, { value: tool })

/** Undefined: not one of the functions an agent's `run` was given. */
export function toolOfCall(call: unknown): AnyTool | undefined {
  return typeof call === 'function' ? (call as { [definitionOf]?: AnyTool })[definitionOf] : undefined
}
