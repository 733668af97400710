/** The options of every list, and the line that says there is more. */
import type { Command } from 'commander'
import type { Output } from './output.ts'
import { wholeNumber } from './parse.ts'

export interface PagingOptions {
  /** Undefined: not said; a page for people, everything for a pipe. */
  readonly limit?: number
  readonly cursor?: string
}

export const addPagingOptions = (command: Command): Command => command
  .option('--limit <n>', 'entries of one page (default: 50)', wholeNumber(1, 1_000))
  .option('--cursor <cursor>', 'where the next page begins, as the page before said')

export const pageOf = ({ limit = 50, cursor }: PagingOptions): { limit: number; cursor: string | undefined } => ({ limit, cursor })

/** Every page to its end, or to the limit that was said (a page may hold fewer): a pipe that got the first fifty only would do half of what was meant. */
export async function* allOf<T>({ limit, cursor }: PagingOptions, list: (page: { limit: number; cursor: string | undefined }) => Promise<{ entries: readonly T[]; cursor: string | null }>): AsyncGenerator<T> {
  let left = limit ?? Infinity
  for (let next: string | null | undefined = cursor; next !== null && left > 0;) {
    const page: { entries: readonly T[]; cursor: string | null } = await list({ limit: Math.min(left, 1_000), cursor: next })
    yield* page.entries
    left -= page.entries.length
    next = page.cursor
  }
}

export function sayMore(out: Output, cursor: string | null): void {
  if (cursor !== null) out.line(`\nThere is more: the same command with --cursor ${cursor}`)
}
