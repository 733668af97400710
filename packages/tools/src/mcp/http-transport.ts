/** MCP over streamable HTTP, with the guard in the tick in which a tool call's request is written, and no second write of one. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Agent } from 'undici'
import { agentDefaults, createGuardedFetch } from '../guarded-fetch.ts'
import { isToolCall, permissionFor } from './send-once.ts'

export interface HttpTransportOptions {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}

/** The tool's own deadline ends the waiting for an answer, not a limit of the HTTP client. */
const newAgent = (): Agent => new Agent({ ...agentDefaults, headersTimeout: 0, bodyTimeout: 0, connectTimeout: 10_000 })

/** A broken stream is listened to again (that repeats no call); what comes of it within a few seconds or not at all is then told. */
const reconnectionOptions = { initialReconnectionDelay: 300, maxReconnectionDelay: 5_000, reconnectionDelayGrowFactor: 2, maxRetries: 3 }

export function httpTransport({ url, headers }: HttpTransportOptions): { transport: StreamableHTTPClientTransport; destroy: () => Promise<void> } {
  const dispatcher = newAgent()
  const plain = createGuardedFetch({ guard: () => {}, dispatcher })
  const fetch = async (input: string | URL, init?: RequestInit): Promise<Response> => {
    const message: unknown = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined
    if (!isToolCall(message)) return await plain(input, init)
    const permission = permissionFor(message)
    return await createGuardedFetch({ guard: () => permission?.pass(), dispatcher })(input, init)
  }
  const transport = new StreamableHTTPClientTransport(url, { fetch, requestInit: { headers }, reconnectionOptions, onInsufficientScope: 'throw' })
  return { transport, destroy: () => dispatcher.destroy() }
}
