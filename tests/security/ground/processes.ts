/** Programs as people start them, from the sources: processes of their own, with an environment that holds nothing but what is given, ended with the test. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const running = new Set<ChildProcess>()
process.once('exit', () => { for (const child of running) child.kill('SIGKILL') })

export interface Program {
  /** Everything it wrote, on both streams. */
  said(): string
  /** Its exit code; null: a signal. */
  readonly ended: Promise<number | null>
  stop(): Promise<void>
}

export interface Service extends Program {
  readonly url: string
  readonly loginUrl: string | undefined
}

/** @param modules loaded before the program: a clock that is wrong, a resolver that lies. */
export function runProgram(file: string, args: readonly string[], env: NodeJS.ProcessEnv, modules: readonly string[] = []): Program {
  const imports = modules.map((module) => `--import=${new URL(module, import.meta.url).href}`)
  const child = spawn(process.execPath, ['--conditions=@pawl/source', '--import=tsx', ...imports, file, ...args], {
    cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env['PATH'], HOME: process.env['HOME'], NO_COLOR: '1', ...env },
  })
  running.add(child)
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => { text += bytes.toString() })
  const ended = once(child, 'close').then(([code]) => { running.delete(child); return code as number | null })
  return {
    said: () => text,
    ended,
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
      await ended
      clearTimeout(timer)
    },
  }
}

/** `pawl producer`, `pawl dashboard`, `pawl worker`. */
export const runService = (name: 'producer' | 'dashboard' | 'worker', env: NodeJS.ProcessEnv, modules: readonly string[] = []): Program =>
  runProgram('packages/pawl/src/main.ts', [name, '--json'], env, modules)

/** Resolves when it listens; rejects with what it said when it ends instead. */
export async function startService(name: 'producer' | 'dashboard' | 'worker', env: NodeJS.ProcessEnv, modules: readonly string[] = []): Promise<Service> {
  const program = runService(name, { PAWL_PORT: '0', ...env }, modules)
  const line = await said(program, /^\{"(?:url|processes)":.*\}$/m)
  const { url, healthUrl, loginUrl } = JSON.parse(line) as { url?: string; healthUrl?: string; loginUrl?: string | null }
  return { ...program, url: url ?? healthUrl ?? '', loginUrl: loginUrl ?? undefined }
}

/** What of its output matches, as soon as it does. */
export async function said(program: Program, pattern: RegExp, deadlineMs = 60_000): Promise<string> {
  const until = Date.now() + deadlineMs
  let hasEnded = false
  void program.ended.then(() => { hasEnded = true })
  for (;;) {
    const found = pattern.exec(program.said())?.[0]
    if (found !== undefined) return found
    if (hasEnded || Date.now() > until) throw new Error(`${hasEnded ? 'it ended' : 'too late'} without saying ${pattern}: ${program.said()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
