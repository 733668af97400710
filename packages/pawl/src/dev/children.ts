/** The processes `pawl dev` starts beside its workers: one that looks at a config, and the producer, which has to be new to see new agents. */
import { PawlError } from '@pawl/core'
import { fork, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import type { Loaded } from './load-agents.ts'

const loadWithinMs = 60_000

/** What the config names now; or why it does not load. */
export async function loadAgents(path: string, env: NodeJS.ProcessEnv): Promise<Loaded> {
  const child = fork(new URL('./load-agents.js', import.meta.url), [path], { env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => { said += text })
  const timer = setTimeout(() => child.kill('SIGKILL'), loadWithinMs)
  try {
    return await new Promise<Loaded>((resolve, reject) => {
      child.once('message', (loaded: Loaded) => { resolve(loaded) })
      child.once('error', reject)
      child.once('close', () => { resolve({ error: said.trim() === '' ? `it did not load within ${loadWithinMs / 1_000} s` : said.trim() }) })
    })
  } finally {
    clearTimeout(timer)
  }
}

export interface ProducerProcess {
  readonly url: string
  stop(): Promise<void>
}

const up = z.object({ url: z.url() })
const refusal = z.object({ code: z.string(), message: z.string() })

/** `pawl producer` on that port, 0 for any free one. In a group of its own, so that a terminal's Ctrl-C ends it when we say so; it ends with this process. Throws what it said when it does not come up; `onDeath` when it dies later. */
export async function startProducerProcess(port: number, env: NodeJS.ProcessEnv, onDeath: (why: string) => void, onLine: ((line: string) => void) | undefined): Promise<ProducerProcess> {
  const child = fork(new URL('../main.js', import.meta.url), ['producer', '--json', '--port', String(port)], { detached: true, env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  let isStopping = false
  let said = ''
  // Until it is up its words are a refusal, which may be answered (a taken port) and is not for everybody to read.
  let early: string[] | undefined = []
  const pass = onLine ?? ((text: string): void => void process.stderr.write(`${text}\n`))
  if (child.stderr !== null) {
    createInterface({ input: child.stderr }).on('line', (text) => {
      said = text
      if (early === undefined) pass(text)
      else early.push(text)
    })
  }
  const ended = new Promise<void>((resolve) => { child.once('close', () => { resolve() }) })
  const line = await firstLine(child, ended)
  if (line === undefined) throw refusalFrom(said)
  for (const text of early) pass(text)
  early = undefined
  void ended.then(() => { if (!isStopping) onDeath(said) })
  return {
    url: up.parse(JSON.parse(line)).url,
    async stop() {
      isStopping = true
      child.kill('SIGTERM')
      await ended
    },
  }
}

function firstLine(child: ChildProcess, ended: Promise<void>): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = ''
    child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      text += part
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')))
    })
    void ended.then(() => { resolve(undefined) })
  })
}

/** Its last line: a refusal as JSON. */
function refusalFrom(last: string): PawlError {
  try {
    const { code, message } = refusal.parse(JSON.parse(last))
    return new PawlError(code, message, 'crash')
  } catch {
    return new PawlError('NO_PRODUCER', `The producer did not start: ${last === '' ? 'it ended without a word' : last}`, 'crash')
  }
}
