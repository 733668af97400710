/** What worker processes count, in a file of one line a count: it outlives their being killed, and the parent adds it to its own. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { COUNTERS, FAULT_KINDS, Tally, type CounterName, type FaultKind } from '../chaos/tally.ts'

export class FileTally extends Tally {
  constructor(private readonly file: string) {
    super()
  }

  override fault(kind: FaultKind, n = 1): void {
    if (n > 0) appendFileSync(this.file, `fault ${kind}\n`.repeat(n))
  }

  override count(name: CounterName, n = 1): void {
    if (n > 0) appendFileSync(this.file, `count ${name}\n`.repeat(n))
  }
}

/** Adds what the file has. A line that its writer did not live to end is left out. */
export function addFileTally(file: string, to: Tally): void {
  if (!existsSync(file)) return
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const [what, name] = line.split(' ')
    const counter = COUNTERS.find((one) => what === 'count' && one === name)
    const kind = FAULT_KINDS.find((one) => what === 'fault' && one === name)
    if (counter !== undefined) to.count(counter)
    if (kind !== undefined) to.fault(kind)
  }
}

export function addTally(from: Tally, to: Tally): void {
  for (const [kind, n] of from.faults) to.fault(kind, n)
  for (const [name, n] of from.counters) to.count(name, n)
  for (const [name, n] of from.struck) to.struck.set(name, (to.struck.get(name) ?? 0) + n)
}
