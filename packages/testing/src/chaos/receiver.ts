/**
 * The effects server in a process of its own, and its log as it grows. Of its own, because a receiver that shares a busy event loop with its senders
 * reads requests seconds after they were written, later than any wait before a verify or a person's answer allows for.
 */
import { spawn } from 'node:child_process'
import { closeSync, fstatSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { JudgedReceipt, LogLine, Receipt } from '../effects-log.ts'
import type { Fault } from '../effects-server.ts'

export class Receiver {
  readonly #file: number
  #read = 0
  #rest = ''
  readonly #receipts: (Receipt & { applied: boolean })[] = []
  readonly #byKey = new Map<string, JudgedReceipt[]>()
  readonly #standstills: { at: string; ms: number }[] = []

  private constructor(readonly url: string, file: string, private readonly stop: () => void) {
    this.#file = openSync(file, 'a+')
  }

  static async start(): Promise<Receiver> {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-receiver-'))
    const file = join(folder, 'log')
    // Built or not, as this file is.
    const isSource = import.meta.url.endsWith('.ts')
    const program = fileURLToPath(new URL(`../effects-server.${isSource ? 'ts' : 'js'}`, import.meta.url))
    const child = spawn(process.execPath, [...(isSource ? ['--import', 'tsx'] : []), program, '0', file], { stdio: ['ignore', 'pipe', 'inherit'] })
    const end = (): void => void child.kill('SIGKILL')
    process.once('exit', end)
    const [line] = await Promise.race([readFirst(child.stdout), new Promise<never>((_, reject) => child.once('exit', (code) => reject(new Error(`the effects server ended with ${String(code)} before it listened`))))])
    return new Receiver((JSON.parse(line) as { url: string }).url, file, () => {
      process.off('exit', end)
      end()
      rmSync(folder, { recursive: true, force: true })
    })
  }

  async program(subject: string, faults: readonly Fault[]): Promise<void> {
    const response = await fetch(`${this.url}/control/program`, { method: 'POST', body: JSON.stringify({ subject, faults }) })
    if (!response.ok) throw new Error(`the effects server refused a program: ${response.status}`)
  }

  /** When its process did nothing, and for how long. */
  standstills(): readonly { readonly at: string; readonly ms: number }[] {
    this.#catchUp()
    return this.#standstills
  }

  /** Everything received so far, in order of arrival. */
  receipts(): readonly JudgedReceipt[] {
    this.#catchUp()
    return this.#receipts
  }

  receiptsOf(key: string): readonly JudgedReceipt[] {
    this.#catchUp()
    return this.#byKey.get(key) ?? []
  }

  #catchUp(): void {
    const size = fstatSync(this.#file).size
    if (size <= this.#read) return
    const bytes = Buffer.alloc(size - this.#read)
    const got = readSync(this.#file, bytes, 0, bytes.length, this.#read)
    this.#read += got
    const lines = (this.#rest + bytes.toString('utf8', 0, got)).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#take(JSON.parse(line) as LogLine)
  }

  #take(line: LogLine): void {
    if (line.type === 'stood still') return void this.#standstills.push(line)
    if (line.type === 'applied') {
      const receipt = this.#receipts[line.n - 1]
      if (receipt) receipt.applied = true
      return
    }
    const receipt = { ...line.receipt, applied: false }
    this.#receipts.push(receipt)
    const same = this.#byKey.get(receipt.key)
    if (same) same.push(receipt)
    else this.#byKey.set(receipt.key, [receipt])
  }

  close(): void {
    closeSync(this.#file)
    this.stop()
  }
}

async function readFirst(from: NodeJS.ReadableStream): Promise<[string]> {
  for await (const line of createInterface({ input: from })) return [line]
  throw new Error('the effects server said nothing')
}
