import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { Option, type Command } from 'commander'
import { once } from 'node:events'
import { addLeaf } from '../cli/leaf.ts'
import { addPlaceOptions, cliActor, openClient, producerOf, type PlaceOptions } from '../cli/place.ts'
import { untilStopped } from '../cli/until-stopped.ts'
import { readVersion } from '../cli/version.ts'
import { createMcpServer } from '../mcp/server.ts'
import { LEVELS, type Level } from '../mcp/tool.ts'

interface McpOptions extends PlaceOptions {
  readonly allow?: Level
}

/**
 * `pawl mcp`: an MCP server on stdin and stdout. With a producer the token says what its caller may do; on a database there is no token, so
 * `--allow` says it, and by default it may only look. Ends with its stdin, or with a signal; runs go on without it.
 */
export function addMcp(parent: Command): void {
  addLeaf<McpOptions>(parent, {
    usage: 'mcp', about: 'serve Pawl to other agents as an MCP server over stdio: start runs, wait, answer',
    options: (command) => addPlaceOptions(command
      .addOption(new Option('--allow <level>', 'what it may do: read only looks, run also starts runs, operate also answers and steers (default: read on a database; over --url what the token may)').choices(LEVELS))),
    async run({ options, out }) {
      const isOverHttp = producerOf(options) !== undefined
      const allowed = options.allow ?? (isOverHttp ? 'operate' : 'read')
      const client = await openClient(options, out, { agents: allowed !== 'read' && !isOverHttp, actor: `mcp:${cliActor().replace(/^cli:?/, '') || 'unknown'}` })
      const serving = serveStdio(() => createMcpServer(client, allowed, readVersion()), { onerror: (error) => out.remark(`pawl mcp: ${error.message}`) })
      await Promise.race([untilStopped(), once(process.stdin, 'end'), once(process.stdin, 'close')])
      await serving.close()
      await client.close()
    },
  })
}
