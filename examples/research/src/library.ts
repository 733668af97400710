/** The folder the agent works in: two sources per topic with one fact each, and empty folders for what it writes. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const factOf = (topic: string, n: 1 | 2): string => `Fact ${n}: ${topic} was ${n === 1 ? 'first described' : 'last seen'} in ${1700 + ((topic.length * 37 + n * 91 + (topic.codePointAt(0) ?? 0)) % 300)}.`

export function createLibrary(folder: string, topics: readonly string[]): void {
  for (const name of ['library', 'drafts', 'published']) mkdirSync(join(folder, name), { recursive: true })
  for (const topic of topics) {
    for (const n of [1, 2] as const) writeFileSync(join(folder, 'library', `${topic}-${n}.txt`), `Notes on ${topic}, part ${n}.\n\n${factOf(topic, n)}\n`)
  }
}
