/** A receiver's own book: one line per receipt, written before it answers. What the demo believes about the outside world. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

export interface Receipt {
  readonly to: string
  /** The Message-ID or the idempotency key. */
  readonly id: string
  /** False: recognised as a repeat, nothing went out. */
  readonly applied: boolean
  /** Epoch milliseconds. */
  readonly atMs: number
}

export const writeReceipt = (path: string, receipt: Omit<Receipt, 'atMs'>): void => appendFileSync(path, `${JSON.stringify({ ...receipt, atMs: Date.now() })}\n`)

export function readReceipts(path: string): Receipt[] {
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8').split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as Receipt)
}
