/** The runs a verb is for: named one by one, or "-" for the ids on stdin, as `pawl run list -o ids` prints them. */
import { createInterface } from 'node:readline'
import { isUuid } from '@pawl/core'
import { UsageError } from './fail.ts'

export interface GivenRuns {
  /** As answers name them, in small letters, each once; what is no id at all stays as it was typed. */
  readonly ids: readonly string[]
  /** Several, or from stdin: each gets a result of its own, also when there is just one. */
  readonly isMany: boolean
}

export async function givenRuns(args: readonly string[], command: string): Promise<GivenRuns> {
  if (!args.includes('-')) return { ids: idsOf(args), isMany: args.length > 1 }
  if (args.length > 1) throw new UsageError(`"-" takes the runs from stdin and stands alone: pawl run list -o ids | pawl run ${command} -`)
  if (process.stdin.isTTY) throw new UsageError(`"-" takes the runs from stdin, one id a line, and nothing is piped in: pawl run list -o ids | pawl run ${command} -`)
  const lines: string[] = []
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) if (line.trim() !== '') lines.push(line.trim())
  return { ids: idsOf(lines), isMany: true }
}

const idsOf = (given: readonly string[]): string[] => [...new Set(given.map((id) => (isUuid(id) ? id.toLowerCase() : id)))]
