/** One command: its options and arguments, `--json` and `--verbose`, and what it does. Commands return their exit code; nothing is 0. */
import { Option, type Command } from 'commander'
import { exitOf } from './exit-codes.ts'
import { reportFailure } from './fail.ts'
import { Output, type Format } from './output.ts'

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
  /** It lists things by id, and `-o ids` prints nothing else. */
  readonly hasIds?: boolean
  readonly run: (call: Call<O>) => Promise<number | void>
}

/** Whether what was typed asks for JSON: asked before commander has understood it, for where it does not. */
export function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  const options = end === -1 ? words : words.slice(0, end)
  return options.some((word, i) => word === '--json' || /^(-o=?|--output=)json$/.test(word) || (word === 'json' && /^(-o|--output)$/.test(options[i - 1] ?? '')))
}

const codes = new WeakMap<Command, number>()

/** The exit code of the leaf that ran under this program. */
export const codeOf = (program: Command): number => codes.get(program) ?? exitOf.ok

export function addLeaf<O extends object>(parent: Command, leaf: Leaf<O>): void {
  const command = parent.command(leaf.usage).description(leaf.about)
  leaf.options?.(command)
  if (leaf.hasIds) command.addOption(new Option('-o, --output <format>', 'json as --json; ids for a pipe into a command that takes them with "-"').choices(['text', 'json', 'ids']))
  command.option('--json', 'print JSON for scripts').option('--verbose', 'show where an error comes from')
  command.action(async () => {
    const { json: isJson = false, verbose = false, output = isJson ? 'json' : 'text' } = command.opts<{ json?: boolean; verbose?: boolean; output?: Format }>()
    const json = output === 'json'
    let code: number | void
    try {
      code = await leaf.run({ args: command.args, options: command.opts<O>(), out: new Output(output) })
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
