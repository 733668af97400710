/** What the operator says about one MCP tool. The server's own hints are proposals and never enough: see `tighten.ts`. */
import type { Effect } from '@pawl/core'
import type { AnyTool, ToolDefinition } from '../define-tool.ts'
import type { McpDefinition } from './definition.ts'
import type { McpInput, McpResult } from './mcp-result.ts'

/**
 * How to read an answer with `isError: true`. `unknown`: it does not say whether anything was done (default for everything but reads; a person or
 * `verify` decides). `not-applied`: the server's errors of this tool mean that nothing was done. `result`: it is the call's recorded answer,
 * for the agent to read (default for reads).
 */
export type ErrorReading = 'unknown' | 'not-applied' | 'result'

type FromTool = 'keyWindow' | 'concurrent' | 'precondition' | 'key' | 'timeout' | 'retry' | 'verify' | 'settleWindow' | 'irreversible' | 'approval' | 'stage'

export interface Classification extends Pick<ToolDefinition<McpInput, McpResult>, FromTool> {
  /** MCP servers do not run inside the ledger's transaction. */
  readonly effect: Exclude<Effect, 'transactional'>
  /** Raise it when key, effect or undo change. The definition's digest is added to it. Default `1`. */
  readonly version?: string
  /** The tool's argument that takes Pawl's idempotency key. The agent neither sees nor sets it. Without it the server finds the key in `_meta.idempotencyKey`, where most do not look. */
  readonly keyArgument?: string
  readonly onError?: ErrorReading | ((result: McpResult) => ErrorReading)
  /** The inverse: another tool of this server by its name there, or any tool. */
  readonly undo?: { readonly tool: string | AnyTool; readonly input: (call: { input: McpInput; result: McpResult }) => unknown }
  /** The hints were read and are wrong or do not matter here: they tighten nothing. */
  readonly hints?: 'ignore'
}

/** `omit`: the agent does not get the tool. What is not named is taken on as non-idempotent, with a person asked each time. */
export type Classify<K extends string> =
  | { readonly [name in K]: Classification | 'omit' }
  | ((definition: McpDefinition) => Classification | 'omit' | undefined)
