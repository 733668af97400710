import { PawlError } from '@pawl/core'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { addLeaf } from '../cli/leaf.ts'

const main = fileURLToPath(new URL('../../../../examples/demo/dist/main.js', import.meta.url))

/** `pawl demo …`: the demo of the repository, with its own arguments, in a process of its own. It is no part of the package. */
export function addDemo(parent: Command): void {
  addLeaf(parent, {
    usage: 'demo [arguments...]', about: 'a real run, killed again and again, and the proof that nothing was lost or done twice',
    options: (command) => void command.allowUnknownOption().helpOption(false),
    async run() {
      if (!existsSync(main)) {
        throw new PawlError('NO_DEMO', 'The demo is not part of the installed package: clone the repository and run "npm run demo" there, which needs nothing but Node, npm and git.')
      }
      // As typed: commander may have taken options of ours (--json) out of the arguments.
      return await runAside(process.argv.slice(process.argv.indexOf('demo') + 1))
    },
  })
}

/** Its exit code, 128 + n after signal n. Signals sent to us are passed on; a terminal's Ctrl-C reaches it by itself. */
async function runAside(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [main, ...args], { stdio: 'inherit' })
  const forwards = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => [signal, () => { if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal) }] as const)
  for (const [signal, forward] of forwards) process.on(signal, forward)
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code, signal) => { resolve(signal === null ? (code ?? 1) : 128 + constants.signals[signal]) })
    })
  } finally {
    for (const [signal, forward] of forwards) process.off(signal, forward)
  }
}
