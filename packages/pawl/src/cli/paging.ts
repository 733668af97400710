/** The options of every list, and the line that says there is more. */
import type { Command } from 'commander'
import type { Output } from './output.ts'
import { wholeNumber } from './parse.ts'

export interface PagingOptions {
  readonly limit: number
  readonly cursor?: string
}

export const addPagingOptions = (command: Command): Command => command
  .option('--limit <n>', 'entries of one page', wholeNumber(1, 1_000), 50)
  .option('--cursor <cursor>', 'where the next page begins, as the page before said')

export function sayMore(out: Output, cursor: string | null): void {
  if (cursor !== null) out.line(`\nThere is more: the same command with --cursor ${cursor}`)
}
