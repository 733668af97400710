/** The command inside the test's own process, where only words and exit codes matter: a child costs two seconds of compiling each. */
import { vi } from 'vitest'
import type { Outcome, Surroundings } from './command.testsuite.ts'
import { runCommand } from './program.ts'

let turn: Promise<unknown> = Promise.resolve()

/** One after the other, since each borrows the process's streams, folder and environment. */
export function callPawl(args: readonly string[], surroundings: Surroundings): Promise<Outcome> {
  const mine = turn.then(() => callNow(args, surroundings))
  turn = mine.catch(() => undefined)
  return mine
}

async function callNow(args: readonly string[], { cwd, env = {} }: Surroundings): Promise<Outcome> {
  const said = { stdout: '', stderr: '' }
  const spies = (['stdout', 'stderr'] as const).map((name) => vi.spyOn(process[name], 'write').mockImplementation((text: string | Uint8Array) => {
    said[name] += String(text)
    return true
  }))
  const before = { folder: process.cwd(), env: process.env }
  const { PATH = '', HOME = '' } = process.env
  process.env = { PATH, HOME, NO_COLOR: '1', ...env }
  process.chdir(cwd)
  try {
    return { code: await runCommand(args), ...said }
  } finally {
    process.chdir(before.folder)
    process.env = before.env
    for (const spy of spies) spy.mockRestore()
  }
}
