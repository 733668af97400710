/**
 * An MCP server as this process uses it: connected when first needed, connected anew (its process started anew) by the next call after it was
 * lost, closed when nobody has used it for a while. Every process that loads the definition has a connection, and a child, of its own.
 */
import { durationMs, longestTimerMs, NotApplied, PawlError, recordError } from '@pawl/core'
import type { CallToolResult } from '@modelcontextprotocol/client'
import { provesNotApplied } from '../http/http-request.ts'
import { NotSent } from '../not-sent.ts'
import { SdkHttpError } from '@modelcontextprotocol/client'
import { Connection } from './connection.ts'
import type { McpDefinition } from './definition.ts'
import { SendOnce } from './send-once.ts'
import { isStdio, maskSecrets, placeOf, secretsOf, type McpServerOptions } from './server-options.ts'

/** A session over HTTP that was used this recently is taken to be there; an older one is asked first, where nothing is at stake yet. */
const freshMs = 1_000
const namePattern = /^[a-z0-9]([a-z0-9_-]{0,38}[a-z0-9])?$/

export interface McpCall {
  readonly key: string
  /** Asked in the tick of the write; throws `NotSent`. */
  readonly guard: () => void
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly isRead: boolean
}

export class McpServer {
  readonly name: string
  #connection: Connection | undefined
  #connecting: Promise<Connection> | undefined
  #inUse = 0
  #idle: NodeJS.Timeout | undefined
  #secrets: readonly string[]
  readonly #connectMs: number
  readonly #idleMs: number
  /** Tools whose classification says that calling them changes nothing. Set by `fromMcp`. */
  readonly #reads = new Set<string>()

  constructor(private readonly options: McpServerOptions) {
    this.name = options.name
    if (!namePattern.test(options.name)) throw new PawlError('BAD_MCP_SERVER', `MCP server "${options.name}": the name must be 1-40 characters of a-z, 0-9, "-", "_" and begin and end with a letter or digit.`, 'crash')
    if (!isStdio(options) && !URL.canParse(options.url)) throw new PawlError('BAD_MCP_SERVER', `MCP server "${options.name}": url is not a URL.`, 'crash')
    this.#connectMs = Math.min(durationMs(options.connectTimeout ?? '10s', `MCP server "${options.name}" connectTimeout`), longestTimerMs)
    this.#idleMs = Math.min(durationMs(options.idleTimeout ?? '5m', `MCP server "${options.name}" idleTimeout`), longestTimerMs)
    this.#secrets = secretsOf(options, {})
  }

  /** The child's process group, while there is one. */
  get pid(): number | undefined {
    return this.#connection?.isOver === false ? this.#connection.pid : undefined
  }

  /** What the server has now, by its own names. Connects. Throws `MCP_UNREACHABLE`. */
  async definitions(): Promise<readonly McpDefinition[]> {
    return await this.#use(async (connection) => [...connection.tools.values()])
  }

  /** A tool that was classified `read`, for `verify` and the like. Any other is refused: a call with an effect belongs in the ledger. */
  async read(tool: string, args: Readonly<Record<string, unknown>>): Promise<CallToolResult> {
    if (!this.#reads.has(tool)) throw new PawlError('MCP_NOT_A_READ', `MCP server "${this.name}": "${tool}" is not classified as a read. Only reads may be called outside the ledger; call it as a tool.`, 'fail', { tool })
    return await this.#use(async (connection) => {
      const found = connection.tools.get(tool)
      if (!found) throw this.#gone(tool, connection)
      return await this.#send(connection, found, args, { key: '', guard: () => {}, timeoutMs: 30_000, signal: AbortSignal.timeout(30_000), isRead: true })
    })
  }

  /** Several agents may take tools of one server, each by its own classification: what one calls a read stays one. */
  allowReads(names: readonly string[]): void {
    for (const name of names) this.#reads.add(name)
  }

  /**
   * Sends one call, once. What it throws before `guard` was asked has had no effect. Afterwards only `NotApplied` says so, for an answer of the
   * HTTP layer that precedes the call (a session or credentials refused); everything else is unsettled.
   */
  async call(tool: McpDefinition, args: Readonly<Record<string, unknown>>, call: McpCall): Promise<CallToolResult> {
    return await this.#use(async (connection) => {
      const now = connection.tools.get(tool.name)
      if (!now) throw this.#gone(tool.name, connection)
      if (now.digest !== tool.digest) {
        throw new PawlError('MCP_TOOL_CHANGED', `MCP server "${this.name}" now describes "${tool.name}" differently than when this process took it on (${tool.digest}, now ${now.digest}). Nothing was sent. Look at the new definition and restart the workers to take it on; approvals given for the old one do not hold for it.`, 'fail', { server: this.name, tool: tool.name })
      }
      return await this.#send(connection, tool, args, call)
    })
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle)
    const connection = this.#connection ?? (await this.#connecting?.catch(() => undefined))
    this.#connection = undefined
    await connection?.close()
  }

  async #send(connection: Connection, tool: McpDefinition, args: Readonly<Record<string, unknown>>, call: McpCall): Promise<CallToolResult> {
    const once = new SendOnce(call.guard)
    try {
      return await connection.call(tool, args, once, { key: call.key, timeoutMs: call.timeoutMs, signal: call.isRead ? call.signal : undefined })
    } catch (error) {
      if (error instanceof NotSent) throw error
      const what = `MCP server "${this.name}" (${placeOf(this.options)}): the call of "${tool.name}" `
      const why = this.#say(error, connection)
      if (!once.isWritten) throw new Error(`${what}was not sent: ${why}`)
      if (error instanceof SdkHttpError && provesNotApplied.has(error.status ?? 0)) throw new NotApplied(`${what}was refused before it was carried out (HTTP ${error.status}): ${why}`)
      throw new Error(`${what}was sent and has no usable answer: ${why}. Whether it happened is not known, and it is not sent again.`)
    }
  }

  #gone(tool: string, connection: Connection): PawlError {
    const has = [...connection.tools.keys()]
    return new PawlError('MCP_TOOL_GONE', `MCP server "${this.name}" has no tool "${tool}" any more. Nothing was sent. It has: ${has.slice(0, 20).join(', ') || 'none'}.`, 'fail', { server: this.name, tool })
  }

  async #use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    this.#inUse++
    clearTimeout(this.#idle)
    try {
      return await work(await this.#ready())
    } finally {
      if (--this.#inUse === 0) this.#idle = setTimeout(() => void this.close(), this.#idleMs).unref()
    }
  }

  /** A connection that is there, with the list the server has now. All of this is before any send, so it may be tried again. */
  async #ready(): Promise<Connection> {
    const connection = this.#connection
    if (connection && !connection.isOver) {
      const isThere = isStdio(this.options) || Date.now() - connection.usedAt < freshMs || (await connection.isAnswering(this.#connectMs))
      if (isThere && !connection.isOver) {
        await connection.refresh(this.#connectMs)
        return connection
      }
    }
    if (connection && this.#connection === connection) {
      this.#connection = undefined
      connection.retire()
    }
    this.#connecting ??= this.#connect().finally(() => { this.#connecting = undefined })
    return await this.#connecting
  }

  async #connect(): Promise<Connection> {
    const connection = new Connection()
    let timer: NodeJS.Timeout | undefined
    try {
      const headers = isStdio(this.options) ? {} : await askHeaders(this.options.headers)
      this.#secrets = secretsOf(this.options, headers)
      const late = new Promise<never>((_, reject) => { timer = setTimeout(() => reject(new Error(`no handshake and list of tools within ${this.#connectMs} ms`)), this.#connectMs) })
      await Promise.race([connection.open(this.options, headers, this.#connectMs), late])
      this.#connection = connection
      return connection
    } catch (error) {
      // Killed first: its last words are then complete.
      await connection.kill()
      const todo = isStdio(this.options)
        ? 'Check that the command is installed and starts by hand; it speaks MCP on its stdout and nothing else there.'
        : 'Check that the server runs there, that the path is its MCP endpoint, and the credentials in headers.'
      throw new PawlError('MCP_UNREACHABLE', `MCP server "${this.name}" (${placeOf(this.options)}) cannot be reached: ${this.#say(error, connection)}. ${todo}`, 'retry', { server: this.name })
    } finally {
      clearTimeout(timer)
    }
  }

  /** What went wrong, with what a child said last, without anything secret that was configured. */
  #say(error: unknown, connection: Connection): string {
    const { message } = recordError(error)
    const cause = error instanceof Error && error.cause instanceof Error ? `: ${recordError(error.cause).message}` : ''
    const words = connection.isOver && connection.lastWords !== '' ? `; the server said last: ${connection.lastWords.slice(-300)}` : ''
    return maskSecrets(`${message}${cause}${words}`, this.#secrets)
  }
}

async function askHeaders(headers: Extract<McpServerOptions, { url: string }>['headers']): Promise<Readonly<Record<string, string>>> {
  return typeof headers === 'function' ? await headers() : (headers ?? {})
}
