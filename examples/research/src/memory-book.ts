/** The memory server's own book, one line before a call is handed to it and one after; and the graph it keeps. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

export interface MemoryReceipt {
  /** The idempotency key that came with the call. */
  readonly key: string
  readonly entities: readonly string[]
  readonly carriedOut: boolean
}

const linesOf = (path: string): unknown[] => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as unknown) : [])

export const writeMemoryReceipt = (path: string, receipt: MemoryReceipt): void => appendFileSync(path, `${JSON.stringify(receipt)}\n`)

export const readMemoryReceipts = (path: string): MemoryReceipt[] => linesOf(path) as MemoryReceipt[]

/** Names of the entities in the graph, as often as they stand there. */
export const readEntities = (graph: string): string[] => (linesOf(graph) as { type: string; name: string }[]).filter((line) => line.type === 'entity').map((line) => line.name)
