/** One command: its options and arguments, `--json` and `--verbose`, and what it does. Commands return their exit code; nothing is 0. */
import type { Command } from 'commander'
import { exitOf } from './exit-codes.ts'
import { reportFailure } from './fail.ts'
import { Output } from './output.ts'

export interface Call<O> {
  /** As given, in order; commander has refused a call without the required ones. */
  readonly args: readonly string[]
  readonly options: O
  readonly out: Output
}

export interface Leaf<O> {
  readonly usage: string
  readonly about: string
  readonly options?: (command: Command) => void
  readonly run: (call: Call<O>) => Promise<number | void>
}

const codes = new WeakMap<Command, number>()

/** The exit code of the leaf that ran under this program. */
export const codeOf = (program: Command): number => codes.get(program) ?? exitOf.ok

export function addLeaf<O extends object>(parent: Command, leaf: Leaf<O>): void {
  const command = parent.command(leaf.usage).description(leaf.about)
  leaf.options?.(command)
  command.option('--json', 'print JSON for scripts').option('--verbose', 'show where an error comes from')
  command.action(async () => {
    const { json = false, verbose = false } = command.opts<{ json?: boolean; verbose?: boolean }>()
    let code: number | void
    try {
      code = await leaf.run({ args: command.args, options: command.opts<O>(), out: new Output(json) })
    } catch (error) {
      code = reportFailure(error, { json, verbose })
    }
    codes.set(rootOf(command), code ?? exitOf.ok)
  })
}

function rootOf(command: Command): Command {
  let root = command
  while (root.parent !== null) root = root.parent
  return root
}
