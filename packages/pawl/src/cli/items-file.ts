/** Items as lines of JSON, `{"key": …, "payload": …}`, read one by one, so that a file of any size fits into memory. */
import { parseJson, PawlError } from '@pawl/core'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { ItemSeed } from '@pawl/client'
import { z } from 'zod'
import { UsageError } from './fail.ts'

const line = z.strictObject({ key: z.string(), payload: z.unknown() })

/** The items of a file, `-` for stdin. `failure` is what broke it, for a caller whose transport hides it. */
export class ItemsFile implements AsyncIterable<ItemSeed> {
  failure: UsageError | undefined

  constructor(private readonly file: string) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<ItemSeed> {
    const source = this.file === '-' ? process.stdin : createReadStream(this.file)
    let n = 0
    try {
      for await (const text of createInterface({ input: source, crlfDelay: Infinity })) {
        n += 1
        if (text.trim() !== '') yield this.#itemOf(text, n)
      }
    } catch (error) {
      if (error instanceof UsageError) throw error
      throw this.#refuse(`${this.file} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)}). Nothing was started.`)
    }
  }

  #itemOf(text: string, n: number): ItemSeed {
    let value: unknown
    try {
      value = parseJson(text, `${this.file}, line ${n}`)
    } catch (error) {
      if (error instanceof PawlError && error.code !== 'MALFORMED_JSON') throw this.#refuse(`${error.message} Nothing was started.`)
      throw this.#refuse(`${this.file}, line ${n} is not JSON. Write one {"key": "…", "payload": …} a line. Nothing was started.`)
    }
    const parsed = line.safeParse(value)
    if (parsed.success) return { key: parsed.data.key, payload: parsed.data.payload }
    const issue = parsed.error.issues[0]
    throw this.#refuse(`${this.file}, line ${n}: ${issue?.path.length ? `${issue.path.join('.')}: ` : ''}${issue?.message ?? 'does not fit'}. Write one {"key": "…", "payload": …} a line. Nothing was started.`)
  }

  #refuse(message: string): UsageError {
    this.failure = new UsageError(`--items: ${message}`)
    return this.failure
  }
}
