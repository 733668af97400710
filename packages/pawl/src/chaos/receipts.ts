/**
 * What the receiving side says it did, as lines of JSON: `{"operation": "mail.send", "subject": "ada@example.com", "key": "…"}`, one for each time it acted. From a
 * file or over HTTP. Only lines that were not there when the chaos began are judged, so the receiver's log may be one that goes on for ever.
 */
import { readFileSync } from 'node:fs'
import { PawlError } from '@pawl/core'
import { z } from 'zod'
import { UsageError } from '../cli/fail.ts'

const receipt = z.object({
  /** What was done. To be judged for losses: the tool's name. */
  operation: z.string(),
  /** To whom or what. */
  subject: z.string(),
  /** The idempotency key it came under, where the receiver keeps it. */
  key: z.string().optional(),
})
export type ReceiverLine = z.infer<typeof receipt>

const answerWithinMs = 10_000

export class Receipts {
  private constructor(private readonly source: string, private readonly before: number) {}

  /** @param source a file, which need not exist yet, or a URL that answers GET. */
  static async open(source: string): Promise<Receipts> {
    return new Receipts(source, (await readLines(source)).length)
  }

  /** What the receiver did since. Throws `BAD_RECEIPTS` naming the line. */
  async since(): Promise<readonly ReceiverLine[]> {
    const lines = await readLines(this.source)
    if (lines.length < this.before) throw new PawlError('BAD_RECEIPTS', `${this.source} has fewer lines than when the chaos began. It must only grow: otherwise nobody can say what was done meanwhile.`)
    return lines.slice(this.before).map((line, i) => parseLine(this.source, line, this.before + i + 1))
  }
}

async function readLines(source: string): Promise<readonly string[]> {
  const text = /^https?:\/\//.test(source) ? await ask(source) : readFile(source)
  return text.split('\n').filter((line) => line.trim() !== '')
}

async function ask(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(answerWithinMs) }).catch((error: unknown) => {
    throw new PawlError('BAD_RECEIPTS', `The receipts at ${new URL(url).host} could not be read: ${error instanceof Error ? error.message : String(error)}.`)
  })
  if (!response.ok) throw new PawlError('BAD_RECEIPTS', `The receipts at ${new URL(url).host} answered ${response.status}. They must answer 200 with one JSON object a line.`)
  return await response.text()
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw new UsageError(`--receipts: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)}).`)
  }
}

function parseLine(source: string, line: string, n: number): ReceiverLine {
  try {
    return receipt.parse(JSON.parse(line))
  } catch {
    throw new PawlError('BAD_RECEIPTS', `Line ${n} of ${source} is no receipt. Write one JSON object a line, like {"operation":"mail.send","subject":"ada@example.com","key":"the idempotency key"}.`)
  }
}
