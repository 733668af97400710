/**
 * What the outside world saw, as an append-only file of JSON lines: one when a request arrives, one when its effect is applied.
 * Receipts are counted, never distinct keys. Shares no code with the product: an oracle that reuses what it judges proves nothing.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

export const EFFECT_CLASSES = ['read', 'keyed', 'racy', 'lookup', 'opaque'] as const
export type EffectClass = (typeof EFFECT_CLASSES)[number]

export interface Receipt {
  /** 1, 2, … in order of arrival. */
  readonly n: number
  readonly at: string
  readonly class: EffectClass
  /** What the request is about, in the test's words: `alice`, `invoice-7`. */
  readonly subject: string
  /** What it does to it: `charge`, `refund`. */
  readonly op: string
  readonly key: string
  /** SHA-256 of the body's bytes. */
  readonly digest: string
  readonly epoch: number | null
  readonly attempt: number | null
}

export interface JudgedReceipt extends Receipt {
  readonly applied: boolean
}

export type LogLine = { readonly type: 'receipt'; readonly receipt: Receipt } | { readonly type: 'applied'; readonly n: number; readonly at: string }
  /** The server's process did nothing for so long before `at`. */
  | { readonly type: 'stood still'; readonly ms: number; readonly at: string }

export interface ReceiptFilter {
  readonly key?: string
  readonly subject?: string
  readonly op?: string
}

export class EffectsLog {
  readonly #receipts: Receipt[]
  readonly #applied: number[]

  /** Goes on with what the file has. `null` keeps it in memory only. */
  constructor(readonly file: string | null) {
    const { receipts, applied } = file !== null && existsSync(file) ? readLines(file) : { receipts: [], applied: [] }
    this.#receipts = receipts
    this.#applied = applied
  }

  receive(receipt: Omit<Receipt, 'n' | 'at'>): Receipt {
    const full = { n: this.#receipts.length + 1, at: new Date().toISOString(), ...receipt }
    this.#receipts.push(full)
    this.#append({ type: 'receipt', receipt: full })
    return full
  }

  apply(receipt: Receipt): void {
    this.#applied.push(receipt.n)
    this.#append({ type: 'applied', n: receipt.n, at: new Date().toISOString() })
  }

  stoodStill(ms: number): void {
    this.#append({ type: 'stood still', ms, at: new Date().toISOString() })
  }

  receipts(filter: ReceiptFilter = {}): JudgedReceipt[] {
    return judge(this.#receipts, this.#applied, filter)
  }

  #append(line: LogLine): void {
    if (this.file !== null) appendFileSync(this.file, `${JSON.stringify(line)}\n`)
  }
}

/** Every receipt in a log file, in order of arrival, with whether its effect was applied. A torn last line is left out. */
export function readEffectsLog(file: string, filter: ReceiptFilter = {}): JudgedReceipt[] {
  const { receipts, applied } = readLines(file)
  return judge(receipts, applied, filter)
}

function judge(receipts: readonly Receipt[], applied: readonly number[], filter: ReceiptFilter): JudgedReceipt[] {
  const done = new Set(applied)
  return receipts
    .filter((r) => (filter.key ?? r.key) === r.key && (filter.subject ?? r.subject) === r.subject && (filter.op ?? r.op) === r.op)
    .map((r) => ({ ...r, applied: done.has(r.n) }))
}

function readLines(file: string): { receipts: Receipt[]; applied: number[] } {
  const receipts: Receipt[] = []
  const applied: number[] = []
  for (const text of readFileSync(file, 'utf8').split('\n')) {
    let line: LogLine
    try {
      line = JSON.parse(text) as LogLine
    } catch {
      continue
    }
    if (line.type === 'receipt') receipts.push(line.receipt)
    else if (line.type === 'applied') applied.push(line.n)
  }
  return { receipts, applied }
}
