/** A tool as its server describes it, and the digest that tells whether it is still the same. Pure. */
import { digest } from '@pawl/core'
import type { Tool as ListedTool } from '@modelcontextprotocol/client'

/** What a server says about its own tool. Proposals: see `tighten.ts`. */
export interface Hints {
  readonly readOnlyHint?: boolean
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
  readonly openWorldHint?: boolean
}

export interface McpDefinition {
  /** As the server has it: `write_file`. */
  readonly name: string
  readonly description: string
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly outputSchema: Readonly<Record<string, unknown>> | undefined
  readonly hints: Hints
  /** Of everything above: part of the tool's version, so that a changed definition is another tool to approvals and to settling. */
  readonly digest: string
}

export function definitionOf(tool: ListedTool): McpDefinition {
  const hints = pickHints((tool.annotations ?? {}) as Readonly<Record<string, unknown>>)
  const said = { name: tool.name, description: tool.description ?? '', inputSchema: tool.inputSchema as Readonly<Record<string, unknown>>, outputSchema: tool.outputSchema as Readonly<Record<string, unknown>> | undefined, hints }
  return { ...said, digest: digest(said.outputSchema === undefined ? { ...said, outputSchema: null } : said).slice(0, 12) }
}

function pickHints(said: Readonly<Record<string, unknown>>): Hints {
  const names = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const
  return Object.fromEntries(names.flatMap((name) => (typeof said[name] === 'boolean' ? [[name, said[name]]] : [])))
}
