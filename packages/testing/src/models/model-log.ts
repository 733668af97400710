/**
 * What the model was asked and what it answered, appended to a file line by line as it happens: the oracle of "asked again for a decision that was made".
 * A line is written before its answer's first byte, so a decision a client has is always in the log.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'

const entry = z.object({
  /** 1, 2, … over all requests, those of an earlier server on the same file included. */
  n: z.number(),
  at: z.string(),
  api: z.enum(['openai', 'anthropic']),
  stream: z.boolean(),
  /** Of the conversation as it was read, ids left out; null where it was not even read. */
  digest: z.string().nullable(),
  /** Tokens of the request, as estimated. */
  inputTokens: z.number(),
  /** `answered`: a decision was made and its answer begun. `refused`: an invalid request. Else the fault that was played before a decision. */
  outcome: z.string(),
  /** What was wrong with a refused request. */
  why: z.string().nullable(),
  /** The policy's, of an answered request. */
  label: z.string().nullable(),
  calls: z.array(z.object({ id: z.string(), name: z.string(), input: z.unknown() })),
  /** Played with an answered request: the answer may not have arrived. */
  fault: z.string().nullable(),
})
export type ModelLogEntry = z.infer<typeof entry>

export class ModelLog {
  readonly #entries: ModelLogEntry[]
  #begun: number

  constructor(private readonly file: string | null) {
    this.#entries = file === null || !existsSync(file) ? [] : readFileSync(file, 'utf8').split('\n').filter((line) => line !== '').map((line) => entry.parse(JSON.parse(line)))
    this.#begun = Math.max(0, ...this.#entries.map((each) => each.n))
  }

  next(): number {
    return ++this.#begun
  }

  add(given: ModelLogEntry): void {
    this.#entries.push(given)
    if (this.file !== null) appendFileSync(this.file, `${JSON.stringify(given)}\n`)
  }

  entries(): readonly ModelLogEntry[] {
    return [...this.#entries]
  }
}

/** Labels answered more than once, with how often: decisions the model was asked for again. */
export function repeatedDecisions(entries: readonly ModelLogEntry[]): { label: string; times: number }[] {
  const times = new Map<string, number>()
  for (const { outcome, label } of entries) if (outcome === 'answered' && label !== null) times.set(label, (times.get(label) ?? 0) + 1)
  return [...times].filter(([, n]) => n > 1).map(([label, n]) => ({ label, times: n }))
}
