/**
 * The tools of an MCP server as Pawl's tools. The operator says what each does to the world; the server is believed only where that makes
 * handling stricter. The definition's digest is part of each tool's version, so approvals and settling notice when a server changed its mind.
 */
import { PawlError, recordError } from '@pawl/core'
import { defineTool, type AnyTool, type Tool, type ToolDefinition } from '../define-tool.ts'
import { zodFromJsonSchema } from '../json-schema.ts'
import type { Classification, Classify } from './classification.ts'
import type { McpDefinition } from './definition.ts'
import { readAnswer, resultSchema, type McpInput, type McpResult } from './mcp-result.ts'
import { McpServer } from './mcp-server.ts'
import type { McpServerOptions } from './server-options.ts'
import { tighten, unclassified } from './tighten.ts'

export type McpTool = Tool<McpInput, McpResult>
/** By the server's own names. Tools that were not classified are there too, only without a type. */
export type McpTools<K extends string> = Readonly<Record<K, McpTool>>

export interface FromMcpOptions<K extends string> {
  readonly classify: Classify<K>
  /** Where a hint made handling stricter than it was classified. Default: a process warning. */
  readonly report?: (line: string) => void
}

/**
 * Connects, lists, and defines one tool per tool of the server. Throws `MCP_UNREACHABLE` when the server does not answer, `BAD_MCP_CLASSIFICATION`
 * when a tool is named that it does not have, and what `defineTool` throws for a classification that cannot keep its promise.
 */
export async function fromMcp<K extends string>(server: McpServerOptions | McpServer, { classify, report = warn }: FromMcpOptions<K>): Promise<McpTools<K>> {
  const mcp = server instanceof McpServer ? server : new McpServer(server)
  const found = await mcp.definitions()
  if (typeof classify !== 'function') refuseUnknown(mcp.name, Object.keys(classify), found)
  const taken = new Map<string, { definition: McpDefinition; said: Classification }>()
  for (const definition of found) {
    const said = (typeof classify === 'function' ? classify(definition) : (classify as Readonly<Record<string, Classification | 'omit' | undefined>>)[definition.name]) ?? unclassified
    if (said === 'omit') continue
    const { classification, because } = tighten(said, definition.hints)
    for (const reason of because) report(`MCP server "${mcp.name}", tool "${definition.name}": ${reason}.`)
    taken.set(definition.name, { definition, said: classification })
  }
  mcp.allowReads([...taken].filter(([, { said }]) => said.effect === 'read').map(([name]) => name))
  return defineAll(mcp, taken) as McpTools<K>
}

const warn = (line: string): void => process.emitWarning(line, { type: 'PawlMcpWarning' })

function refuseUnknown(server: string, named: readonly string[], found: readonly McpDefinition[]): void {
  const names = new Set(found.map(({ name }) => name))
  const unknown = named.filter((name) => !names.has(name))
  if (unknown.length === 0) return
  throw new PawlError('BAD_MCP_CLASSIFICATION', `MCP server "${server}" has no tool "${unknown.join('", "')}", which classify names. It has: ${[...names].join(', ') || 'none'}. Correct the name, or the server's version.`, 'crash', { server })
}

type Taken = ReadonlyMap<string, { readonly definition: McpDefinition; readonly said: Classification }>

/** Undos name other tools of the server, so tools are made on demand, each once. */
function defineAll(mcp: McpServer, taken: Taken): Record<string, McpTool> {
  const made = new Map<string, McpTool | 'being made'>()
  const make = (name: string, of: string): McpTool => {
    const before = made.get(name)
    const one = taken.get(name)
    if (before === 'being made' || !one) {
      throw new PawlError('BAD_MCP_CLASSIFICATION', `MCP server "${mcp.name}": the undo of "${of}" names "${name}", which ${one ? 'is undone by it in turn' : 'the server does not have or classify omits'}.`, 'crash')
    }
    if (before) return before
    made.set(name, 'being made')
    const tool = defineOne(mcp, one.definition, one.said, (undo) => make(undo, name))
    made.set(name, tool)
    return tool
  }
  const tools = Object.fromEntries([...taken.keys()].map((name) => [name, make(name, name)]))
  refuseSameNames(mcp.name, tools)
  return tools
}

function defineOne(mcp: McpServer, definition: McpDefinition, said: Classification, undoOf: (name: string) => AnyTool): McpTool {
  const { version = '1', keyArgument, onError: _onError, hints: _hints, undo, ...handling } = said
  const name = ledgerName(mcp.name, definition.name)
  const shape: ToolDefinition<McpInput, McpResult> = {
    ...handling,
    name,
    version: `${version}+${definition.digest}`,
    description: definition.description,
    guarded: true,
    ...schemasOf(mcp.name, definition, keyArgument === undefined ? definition.inputSchema : withoutArgument(mcp.name, definition, keyArgument)),
    ...(undo ? { undo: { input: undo.input, tool: typeof undo.tool === 'string' ? undoOf(undo.tool) : undo.tool } } : {}),
    async execute(input, { key, guard, signal, deadline }) {
      const args = keyArgument === undefined ? input : { ...input, [keyArgument]: key }
      const answer = await mcp.call(definition, args, { key, guard, signal, timeoutMs: Math.max(1, deadline.getTime() - Date.now()), isRead: said.effect === 'read' })
      return readAnswer(name, answer, said)
    },
  }
  return defineTool(shape)
}

function schemasOf(server: string, { name, outputSchema }: McpDefinition, inputSchema: Readonly<Record<string, unknown>>): Pick<ToolDefinition<McpInput, McpResult>, 'inputSchema' | 'outputSchema'> {
  try {
    return { inputSchema: zodFromJsonSchema<McpInput>(inputSchema), outputSchema: resultSchema(outputSchema) }
  } catch (error) {
    throw new PawlError('BAD_MCP_SCHEMA', `MCP server "${server}": a schema of "${name}" cannot be read: ${recordError(error).message}. Classify the tool as 'omit', or have the server corrected.`, 'crash', { server, tool: name })
  }
}

/** `write_file` of server `files` is `files.write_file`; what a name in the ledger may not have becomes "-". */
function ledgerName(server: string, tool: string): string {
  return `${server}.${tool.toLowerCase().replaceAll(/[^a-z0-9._-]/g, '-').replaceAll(/^[._-]+|[._-]+$/g, '')}`.slice(0, 100)
}

function refuseSameNames(server: string, tools: Readonly<Record<string, McpTool>>): void {
  const byName = new Map<string, string>()
  for (const [own, { name }] of Object.entries(tools)) {
    const other = byName.get(name)
    if (other !== undefined) throw new PawlError('BAD_MCP_CLASSIFICATION', `MCP server "${server}": "${other}" and "${own}" would both be "${name}" in the ledger. Classify one of them as 'omit'.`, 'crash')
    byName.set(name, own)
  }
}

/** The key is Pawl's to give: the agent is not shown the argument, and one it makes up is replaced. */
function withoutArgument(server: string, { name, inputSchema }: McpDefinition, keyArgument: string): Readonly<Record<string, unknown>> {
  const { properties, required, ...rest } = inputSchema as { properties?: Readonly<Record<string, unknown>>; required?: readonly string[] }
  if (properties?.[keyArgument] === undefined) throw new PawlError('BAD_MCP_CLASSIFICATION', `MCP server "${server}": "${name}" has no argument "${keyArgument}" (keyArgument). It has: ${Object.keys(properties ?? {}).join(', ') || 'none'}.`, 'crash')
  const { [keyArgument]: _key, ...others } = properties
  return { ...rest, properties: others, required: (required ?? []).filter((one) => one !== keyArgument) }
}
