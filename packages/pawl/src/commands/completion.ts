import { Argument, type Command } from 'commander'
import { addLeaf } from '../cli/leaf.ts'

const shells = ['bash', 'zsh', 'fish', 'powershell'] as const

/** Where each shell reads such a script, for the help. */
const about = `Load it once:
  bash  source <(pawl completion bash)                                    (for good: in ~/.bashrc)
  zsh   pawl completion zsh > "\${fpath[1]}/_pawl", then a new shell
  fish  pawl completion fish > ~/.config/fish/completions/pawl.fish
  powershell  pawl completion powershell | Out-String | Invoke-Expression`

/**
 * `pawl completion bash|zsh|fish|powershell`: the script; it asks `pawl complete -- <words>` at every Tab, which is hidden. `build` makes a command tree of its own
 * to look words up in: the library hangs commands into the one it is given.
 */
export function addCompletion(parent: Command, build: () => Command): void {
  addLeaf(parent, {
    usage: 'completion', about: 'the script by which a shell completes commands and options',
    options: (command) => void command.addArgument(new Argument('<shell>').choices(shells)).addHelpText('after', `\n${about}`),
    async run({ args: [shell = ''], out }) {
      const { script } = await import('@bomb.sh/tab')
      const text = heard(() => script(shell, 'pawl', 'pawl'))
      out.emit({ shell, script: text })
      out.line(text)
    },
  })
  parent.command('complete', { hidden: true }).argument('[words...]').allowUnknownOption().helpOption(false).action(async () => {
    const { default: tab } = await import('@bomb.sh/tab/commander')
    const { rawArgs = [] } = parent as Command & { rawArgs?: readonly string[] }
    tab(build(), { completionCommandName: 'completion' }).parse(rawArgs.slice(rawArgs.indexOf('--') + 1))
  })
}

/** What the library prints by itself. */
function heard(print: () => void): string {
  const write = process.stdout.write.bind(process.stdout)
  let text = ''
  process.stdout.write = (part: string | Uint8Array) => {
    text += String(part)
    return true
  }
  try {
    print()
  } finally {
    process.stdout.write = write
  }
  return text.trimEnd()
}
