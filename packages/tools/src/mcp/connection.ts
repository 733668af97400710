/**
 * One connection to one MCP server: handshake, the list of its tools, calls. It is used until it breaks and never mended; `McpServer` makes
 * the next. Nothing here repeats a tool call.
 */
import { Client, ProtocolError, SdkError, SdkErrorCode, SdkHttpError, type CallToolResult, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client'
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio'
import { NotSent } from '../not-sent.ts'
import { definitionOf, type McpDefinition } from './definition.ts'
import { httpTransport } from './http-transport.ts'
import { isToolCall, sending, type SendOnce } from './send-once.ts'
import { isStdio, type McpServerOptions } from './server-options.ts'
import { StdioTransport } from './stdio-transport.ts'

/** How long a call goes on being listened to past its deadline: its answer is proof, and settles it without anyone. */
const lateMs = 600_000

export interface CallOptions {
  readonly key: string
  readonly timeoutMs: number
  /** Ends the request. Only for reads: a cancelled write is answered by nobody, and then nobody ever learns what became of it. */
  readonly signal: AbortSignal | undefined
}

export class Connection {
  readonly client = new Client({ name: 'pawl', version: '1' }, { inputRequired: { autoFulfill: false } })
  tools = new Map<string, McpDefinition>()
  usedAt = Date.now()
  #isOver = false
  #isRetired = false
  #inFlight = 0
  #isListStale = false
  #abandon: () => Promise<void> = async () => {}
  #transport: Transport | undefined
  #stdio: StdioTransport | undefined

  /** No further call goes through it. */
  get isOver(): boolean {
    return this.#isOver || this.#isRetired
  }

  get pid(): number | undefined {
    return this.#stdio?.pid
  }

  /** What a child wrote to stderr last. */
  get lastWords(): string {
    return this.#stdio?.lastWords ?? ''
  }

  async open(options: McpServerOptions, headers: Readonly<Record<string, string>>, timeoutMs: number): Promise<void> {
    const transport = isStdio(options) ? this.#openStdio(options) : this.#openHttp(options.url, headers)
    this.#transport = transport
    this.client.onclose = () => { this.#isOver = true }
    this.client.onerror = () => {}
    this.client.setNotificationHandler('notifications/tools/list_changed', () => { this.#isListStale = true })
    await this.client.connect(transport, { timeout: timeoutMs })
    await this.list(timeoutMs)
  }

  #openStdio(options: Extract<McpServerOptions, { command: string }>): Transport {
    const transport = new StdioTransport({ command: options.command, args: options.args ?? [], cwd: options.cwd, env: { ...getDefaultEnvironment(), ...options.env } })
    this.#stdio = transport
    this.#abandon = async () => { transport.kill() }
    return transport
  }

  #openHttp(url: string, headers: Readonly<Record<string, string>>): Transport {
    const { transport, destroy } = httpTransport({ url: new URL(url), headers })
    this.#abandon = destroy
    // The library goes on waiting when the stream of a request ended without its answer.
    const send = transport.send.bind(transport)
    transport.send = (message: JSONRPCMessage | JSONRPCMessage[], sendOptions?: Parameters<typeof send>[1]) => {
      const call = isToolCall(message) ? sending.getStore() : undefined
      return send(message, { ...sendOptions, ...(call ? { onRequestStreamEnd: () => call.lose(new Error('the connection ended before the answer came')) } : {}) })
    }
    return transport
  }

  /** What the server has now. */
  async list(timeoutMs: number): Promise<void> {
    this.#isListStale = false
    const { tools } = await this.client.listTools(undefined, { timeout: timeoutMs, cacheMode: 'refresh' })
    this.tools = new Map(tools.map((tool) => [tool.name, definitionOf(tool)]))
    this.usedAt = Date.now()
  }

  async refresh(timeoutMs: number): Promise<void> {
    if (this.#isListStale) await this.list(timeoutMs)
  }

  /** False: whoever answers there does not know this session any more. */
  async isAnswering(timeoutMs: number): Promise<boolean> {
    return await this.client.ping({ timeout: timeoutMs }).then(() => true, (error: unknown) => error instanceof ProtocolError)
  }

  /** Not `client.callTool` with the cached definition: it re-sends after a header mismatch. With a definition given it does not. */
  async call(tool: McpDefinition, args: Readonly<Record<string, unknown>>, once: SendOnce, { key, timeoutMs, signal }: CallOptions): Promise<CallToolResult> {
    this.#inFlight++
    try {
      const answer = sending.run(once, () => this.client.callTool(
        { name: tool.name, arguments: { ...args }, _meta: { idempotencyKey: key } },
        { timeout: Math.min(timeoutMs + (signal ? 0 : lateMs), 2 ** 31 - 1), toolDefinition: { name: tool.name, inputSchema: { type: 'object' } }, ...(signal ? { signal } : {}) },
      ))
      return await Promise.race([answer, once.lost])
    } catch (error) {
      if (!isAnswer(error)) this.retire()
      throw error
    } finally {
      this.#inFlight--
      this.usedAt = Date.now()
      if (this.#isRetired) this.retire()
    }
  }

  /** Closes it once nothing is in flight: what broke one call says nothing about its neighbours, whose answers are worth having. */
  retire(): void {
    this.#isRetired = true
    if (this.#inFlight === 0) void this.close()
  }

  async close(): Promise<void> {
    if (this.#isOver && !this.#transport) return
    this.#isOver = true
    const transport = this.#transport
    this.#transport = undefined
    await transport?.close().catch(() => {})
    await this.#abandon().catch(() => {})
  }

  /** Without a polite word: it did not answer. */
  async kill(): Promise<void> {
    this.#isOver = true
    await this.#abandon().catch(() => {})
    await this.close()
  }
}

/** The server said something, it is only slow, or it was not asked: the connection is as good as before. */
function isAnswer(error: unknown): boolean {
  if (error instanceof ProtocolError || error instanceof NotSent) return true
  return error instanceof SdkError && !(error instanceof SdkHttpError) && (error.code === SdkErrorCode.RequestTimeout || error.code === SdkErrorCode.InvalidResult || error.code === SdkErrorCode.UnsupportedResultType)
}
