/** The outside world of this example, each part a process of its own that lives on whatever happens to the workers: model, memory server, mail server. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createLibrary } from './library.ts'

export interface Outside {
  /** For the workers: the settings of the agent. */
  readonly env: Readonly<Record<string, string>>
  /** What the receivers themselves wrote down. */
  readonly books: { readonly model: string; readonly memory: string; readonly graph: string; readonly mail: string }
  close(): Promise<void>
}

/** @param slowMs how long each part takes for a request: long enough to be caught in the middle. */
export async function startOutside(folder: string, topics: readonly string[], slowMs: { readonly model: number; readonly memory: number; readonly mail: number }): Promise<Outside> {
  createLibrary(folder, topics)
  // The files server compares real paths.
  const real = realpathSync(folder)
  const books = { model: join(real, 'model-log.jsonl'), memory: join(real, 'memory-book.jsonl'), graph: join(real, 'memory.jsonl'), mail: join(real, 'mail-book.jsonl') }
  const programs = [
    [new URL('./scripted-model.js', built), books.model, slowMs.model], [new URL('./memory-over-http.js', built), books.graph, books.memory, slowMs.memory],
    [new URL('../../mailing/dist/smtp-receiver.js', built), books.mail, slowMs.mail],
  ] as const
  const parts = await Promise.all(programs.map(async ([url, ...args]) => await startPart(fileURLToPath(url), args.map(String))))
  const [model = '', memory = '', smtpPort = ''] = parts.map((part) => part.said)
  return {
    env: { PAWL_MODEL: 'scripted', PAWL_MODEL_URL: model, RESEARCH_FOLDER: real, RESEARCH_MEMORY: memory, RESEARCH_SMTP: `smtp://127.0.0.1:${smtpPort}` },
    books,
    close: async () => { await Promise.all(parts.map(async ({ child }) => { if (child.kill()) await once(child, 'exit') })) },
  }
}

/** Programs run from the build, also where tests load the source. */
const built = new URL('../dist/', import.meta.url)

async function startPart(program: string, args: readonly string[]): Promise<{ child: ChildProcess; said: string }> {
  // Without what this process was started with: a test's conditions lead to sources.
  const child = fork(program, args, { execArgv: [], stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  const said = await Promise.race([
    once(child.stdout ?? child, 'data').then(([chunk]) => String(chunk).trim()),
    once(child, 'exit').then(() => { throw new Error(`${program} ended before it said where it listens`) }),
  ])
  return { child, said }
}
