/**
 * What the agent may do, and what each call does to the world. The servers are the published ones; what they say of themselves decides nothing here.
 * Every classification below was made by reading the server's source.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { applied, notApplied, unknown, type Verdict } from 'pawl'
import { mailSmtp } from 'pawl/tools/mail'
import { fromMcp, McpServer, mcpText, type Classification, type McpResult } from 'pawl/tools/mcp'
import type { Settings } from './settings.ts'

const require = createRequire(import.meta.url)
/** The program of a published MCP server. */
export const serverMain = (name: 'server-filesystem' | 'server-memory'): string => join(dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist', 'index.js')

export type ResearchTools = Awaited<ReturnType<typeof openTools>>

/** Connects to both servers. `close` ends the files server, which is a child of this process. */
export async function openTools({ folder, memory, smtp }: Omit<Settings, 'model'>) {
  const files = new McpServer({ name: 'files', command: process.execPath, args: [serverMain('server-filesystem'), folder], connectTimeout: '60s' })
  const entities = new McpServer({ name: 'memory', url: memory, connectTimeout: '30s' })
  const ofFiles = classifyFiles(files)
  const tools = {
    ...(await fromMcp(files, { classify: ({ name }) => ofFiles[name] ?? 'omit' })),
    ...(await fromMcp(entities, { classify: ({ name }) => ofMemory[name] ?? 'omit' })),
    // Held back until every question is answered; SMTP deduplicates nothing, so a mail in doubt is for a person.
    mail: mailSmtp({ server: smtp, from: 'Research <research@example.com>', timeout: '3s', settleWindow: '500ms', stage: true, irreversible: true, approval: 'never', key: ({ to, subject }) => [to, subject] }),
  }
  return { tools, close: async () => { await files.close(); await entities.close() } }
}

/** An entity whose name is known is left as it is. "idempotentHint: false" is about its observations, which this agent never adds twice. */
const ofMemory: Readonly<Record<string, Classification>> = {
  create_entities: { effect: 'idempotent', approval: 'never', hints: 'ignore', timeout: '3s', settleWindow: '500ms' },
}

function classifyFiles(server: McpServer): Readonly<Record<string, Classification>> {
  const quick = { timeout: '3s', settleWindow: '500ms' } as const
  return {
    read_text_file: { effect: 'read', timeout: '10s' },
    // The same content again changes nothing more.
    write_file: { effect: 'idempotent', approval: 'never', ...quick },
    // A second time it would add the text a second time; the file tells whether it is there.
    edit_file: {
      effect: 'non-idempotent', approval: 'never', ...quick,
      async verify(input) {
        const { path, edits } = input as { path: string; edits: { oldText: string; newText: string }[] }
        const text = await readText(server, path)
        if (text === undefined || text === 'missing') return unknown()
        return edits.every(({ newText }) => text.content.includes(newText)) ? done('The edit is in the file.') : notApplied()
      },
    },
    // What is published was read by somebody: a person says yes to each.
    move_file: {
      effect: 'non-idempotent', irreversible: true, approval: 'always', ...quick,
      async verify(input) {
        const { source, destination } = input as { source: string; destination: string }
        const [from, to] = [await readText(server, source), await readText(server, destination)]
        if (from === undefined || to === undefined) return unknown()
        if (from === 'missing' && to !== 'missing') return done('The file is at its destination.')
        return from !== 'missing' && to === 'missing' ? notApplied() : unknown()
      },
    },
  }
}

const done = (text: string): Verdict<McpResult> => applied({ content: [{ type: 'text', text }], structuredContent: { content: text } })

/** Undefined: the server could not say. */
async function readText(server: McpServer, path: string): Promise<{ content: string } | 'missing' | undefined> {
  const answer = (await server.read('read_text_file', { path })) as unknown as McpResult
  const content = mcpText(answer)
  if (!answer.isError) return { content }
  return content.includes('ENOENT') ? 'missing' : undefined
}
