/**
 * Pawl for other agents: the client's verbs as tools of an MCP server. What the caller may not do is not listed and cannot be called; over a
 * producer its token is asked again there, whatever is listed here. A refusal is a result the model can read: code, sentence, details.
 */
import { McpServer } from '@modelcontextprotocol/server'
import type { PawlClient } from '@pawl/client'
import { PawlError, refuseChangedNumbers } from '@pawl/core'
import { readTools } from './read-tools.ts'
import { LEVELS, type Level, type PawlTool } from './tool.ts'
import { writeTools } from './write-tools.ts'

export const pawlTools: readonly PawlTool[] = [...readTools, ...writeTools]

const instructions = 'Pawl runs long work in items that survive crashes. start_run begins it, watch waits for it, inbox lists what waits for a person. Nothing is repeated by asking again: keys and ids name what is meant.'

export function createMcpServer(client: PawlClient, allowed: Level, version: string): McpServer {
  const server = new McpServer({ name: 'pawl', version }, { capabilities: { tools: {} }, instructions })
  for (const tool of pawlTools) {
    if (LEVELS.indexOf(tool.level) > LEVELS.indexOf(allowed)) continue
    const isRead = tool.level === 'read'
    server.registerTool(tool.name, {
      title: tool.title, description: tool.description, inputSchema: tool.input,
      annotations: { readOnlyHint: isRead, destructiveHint: !isRead && tool.isDestructive === true, idempotentHint: isRead || tool.isIdempotent === true, openWorldHint: !isRead },
    }, async (input, { mcpReq }) => {
      try {
        // The protocol's own parser has rounded them by now: an id must not become another on its way.
        refuseChangedNumbers(input, 'input')
        const answer = await tool.run(client, input, mcpReq.signal)
        return { content: [{ type: 'text', text: JSON.stringify(answer) }], structuredContent: JSON.parse(JSON.stringify(answer)) as Record<string, unknown> }
      } catch (error) {
        return { isError: true, content: [{ type: 'text', text: JSON.stringify(refusalOf(error)) }] }
      }
    })
  }
  return server
}

function refusalOf(thrown: unknown): { code: string; message: string; details: Readonly<Record<string, unknown>> } {
  if (thrown instanceof PawlError) return { code: thrown.code, message: thrown.message, details: thrown.details }
  return { code: 'UNEXPECTED', message: `Pawl failed: ${thrown instanceof Error ? thrown.message : String(thrown)}. Whether it acted is unknown: look before asking again.`, details: {} }
}
