/** The command as a real child process, run from its sources, so that a stale build cannot pass for a fresh one. */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../main.ts', import.meta.url))
const tsx = import.meta.resolve('tsx')
/** What node is given to run the command from its sources. */
export const pawlArgs = ['--conditions=@pawl/source', '--import', tsx, main] as const
export const fixtureConfig = fileURLToPath(new URL('./fixture-config.testsuite.ts', import.meta.url))

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Surroundings {
  readonly cwd: string
  /** Beside PATH and HOME nothing of the test's own environment is passed on. */
  readonly env?: Readonly<Record<string, string>>
  /** On its stdin; nothing at all without. */
  readonly input?: string
  /** Where its stdout goes; without, the test reads it. */
  readonly onto?: string
}

export interface Running {
  readonly pid: number
  readonly kill: (signal: NodeJS.Signals) => void
  /** The first stdout line that fits; fails with all that was said when the process ends without, or takes too long. */
  line(fits: (line: string) => boolean, withinMs?: number): Promise<string>
  readonly ended: Promise<Outcome>
}

export const startPawl = (args: readonly string[], surroundings: Surroundings): Running => start(pawlArgs, args, surroundings)

/** As it is installed: for a fleet of several processes, each of which would compile the sources first. */
export const startBuilt = (args: readonly string[], surroundings: Surroundings): Running => start([fileURLToPath(new URL('../../bin/pawl.mjs', import.meta.url))], args, surroundings)

function start(program: readonly string[], args: readonly string[], { cwd, env = {}, input, onto }: Surroundings): Running {
  const { PATH = '', HOME = '' } = process.env
  const sink = onto === undefined ? undefined : openSync(onto, 'w')
  const child: ChildProcess = spawn(process.execPath, [...program, ...args], { cwd, env: { PATH, HOME, NO_COLOR: '1', ...env }, stdio: [input === undefined ? 'ignore' : 'pipe', sink ?? 'pipe', 'pipe'] })
  if (sink !== undefined) closeSync(sink)
  child.stdin?.end(input)
  let stdout = ''
  let stderr = ''
  const listeners = new Set<() => void>()
  const hear = (stream: ChildProcess['stdout'], keep: (text: string) => void): void => {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      keep(text)
      for (const listener of listeners) listener()
    })
  }
  hear(child.stdout, (text) => { stdout += text })
  hear(child.stderr, (text) => { stderr += text })
  const ended = new Promise<Outcome>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => { resolve({ code, stdout, stderr }) })
  })
  return {
    pid: child.pid ?? 0, kill: (signal) => void child.kill(signal), ended,
    line: (fits, withinMs = 60_000) => new Promise((resolve, reject) => {
      const fail = (why: string): void => reject(new Error(`pawl ${args.join(' ')}: ${why}\n${stdout}\n${stderr}`))
      const timer = setTimeout(() => fail('the line did not come'), withinMs)
      const look = (): void => {
        const found = stdout.split('\n').slice(0, -1).find(fits)
        if (found === undefined) return
        clearTimeout(timer)
        listeners.delete(look)
        resolve(found)
      }
      listeners.add(look)
      look()
      void ended.then(() => { clearTimeout(timer); fail('it ended before') })
    }),
  }
}

export async function runPawl(args: readonly string[], surroundings: Surroundings): Promise<Outcome> {
  const running = startPawl(args, surroundings)
  const timer = setTimeout(() => running.kill('SIGKILL'), 60_000)
  try {
    return await running.ended
  } finally {
    clearTimeout(timer)
  }
}
