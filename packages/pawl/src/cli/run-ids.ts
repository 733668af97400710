/** The runs a verb is for: named one by one, or "-" for the ids on stdin, as `pawl run list -o ids` prints them. */
import { createInterface } from 'node:readline'
import { UsageError } from './fail.ts'

export interface GivenRuns {
  readonly ids: readonly string[]
  /** Several, or from stdin: each gets a result of its own, also when there is just one. */
  readonly isMany: boolean
}

export async function givenRuns(args: readonly string[], command: string): Promise<GivenRuns> {
  if (!args.includes('-')) return { ids: [...new Set(args)], isMany: args.length > 1 }
  if (args.length > 1) throw new UsageError(`"-" takes the runs from stdin and stands alone: pawl run list -o ids | pawl run ${command} -`)
  if (process.stdin.isTTY) throw new UsageError(`"-" takes the runs from stdin, one id a line, and nothing is piped in: pawl run list -o ids | pawl run ${command} -`)
  const ids = new Set<string>()
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) if (line.trim() !== '') ids.add(line.trim())
  return { ids: [...ids], isMany: true }
}
