/** A yes or no on the terminal. Where nobody can be asked (scripts, pipes, `--json`) what was typed is meant. */
import { createInterface } from 'node:readline/promises'
import type { Output } from './output.ts'

export async function ask(out: Output, question: string): Promise<boolean> {
  if (out.format !== 'text' || !process.stdin.isTTY || !process.stdout.isTTY) return true
  const door = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return /^y(es)?$/i.test((await door.question(`${question} [y/N] `)).trim())
  } finally {
    door.close()
  }
}
