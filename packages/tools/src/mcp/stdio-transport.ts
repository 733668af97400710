/**
 * MCP over a child's stdin and stdout. Own code instead of the library's transport for three reasons: the guard has to be asked in the tick
 * of the write, the server lives in a process group that ends with this process, and what the server wrote to stderr last belongs in the error.
 */
import { ReadBuffer, serializeMessage, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client'
import { limits } from '@pawl/core'
import { spawnGroup, type GroupOptions, type ProcessGroup } from '../process-group.ts'
import { permissionFor } from './send-once.ts'

/** Twice what a result may have: a longer line is no message of a tool Pawl could record. */
const maxBufferSize = 2 * limits.resultBytes
const stderrKept = 2_000

export class StdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly #buffer = new ReadBuffer({ maxBufferSize })
  #group: ProcessGroup | undefined
  #isClosed = false
  #stderr = ''
  /** One write at a time, each begun when the one before is with the kernel: then the guard's tick is the write's. */
  #tail: Promise<unknown> = Promise.resolve()

  constructor(private readonly options: GroupOptions) {}

  get pid(): number | undefined {
    return this.#group?.pid
  }

  /** What the server said last, for the error about its end. */
  get lastWords(): string {
    return this.#stderr.trim()
  }

  async start(): Promise<void> {
    const group = await spawnGroup(this.options)
    this.#group = group
    void group.ended.then(() => this.#over())
    group.stdout.on('data', (chunk: Buffer) => this.#read(chunk))
    group.stderr.on('data', (chunk: Buffer) => { this.#stderr = (this.#stderr + chunk.toString('utf8')).slice(-stderrKept) })
    // EPIPE and ECONNRESET only say that the server is gone; `ended` says so too.
    for (const stream of [group.stdin, group.stdout, group.stderr]) stream.on('error', () => {})
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const permission = permissionFor(message)
    const text = serializeMessage(message)
    const turn = this.#tail.catch(() => {}).then(() => new Promise<void>((resolve, reject) => {
      const group = this.#group
      if (this.#isClosed || !group?.isAlive()) throw new Error('the server has ended')
      permission?.pass()
      group.stdin.write(text, (error) => (error ? reject(error) : resolve()))
    }))
    this.#tail = turn
    await turn
  }

  /** The end of stdin is the polite word; the group is killed when it was not enough. */
  async close(): Promise<void> {
    const group = this.#group
    if (!group || this.#isClosed) return this.#over()
    group.stdin.end()
    const timer = setTimeout(() => group.kill(), 1_000)
    await group.ended
    clearTimeout(timer)
    this.#over()
  }

  /** At once: for a server that did not answer. */
  kill(): void {
    this.#group?.kill()
  }

  #read(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk)
    } catch (error) {
      // More than a message may have: nothing after it can be read either.
      this.onerror?.(error as Error)
      this.kill()
      return
    }
    for (;;) {
      try {
        const message = this.#buffer.readMessage()
        if (message === null) return
        this.onmessage?.(message)
      } catch (error) {
        this.onerror?.(error as Error)
      }
    }
  }

  #over(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.onclose?.()
  }
}
