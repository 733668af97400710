import type { PawlClient, RunPolicyRequest, StartedRun } from '@pawl/client'
import { FAILURE_POLICIES, type FailurePolicy } from '@pawl/core'
import { Option, type Command } from 'commander'
import { exitOf } from '../cli/exit-codes.ts'
import { UsageError } from '../cli/fail.ts'
import { ItemsFile } from '../cli/items-file.ts'
import { addLeaf } from '../cli/leaf.ts'
import { collectLabel, readJson, wholeNumber } from '../cli/parse.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { watchToItsEnd } from '../cli/watch.ts'

interface StartOptions extends PlaceOptions {
  readonly input?: string
  readonly items?: string
  readonly key?: string
  readonly label?: Readonly<Record<string, string>>
  readonly agentVersion?: string
  readonly onFailure?: FailurePolicy
  readonly maxFailures?: number
  readonly maxConcurrency?: number
  readonly watch?: boolean
}

/** `pawl run start <agent>`. JSON: `{ id, isNew }`, then with `--watch` a line per change. */
export function addRunStart(parent: Command): void {
  addLeaf<StartOptions>(parent, {
    usage: 'start <agent>', about: 'start a run',
    options: (command) => addPlaceOptions(command
      .option('--input <json>', "the run's input: JSON, @file.json, or @- for stdin")
      .option('--items <file>', 'items in place of the agent\'s split: a file of lines {"key": …, "payload": …}, or - for stdin')
      .option('--key <key>', 'idempotency key: started twice under one key, it is one run')
      .option('--label <name=value>', 'a label; give it as often as you like', collectLabel)
      .option('--agent-version <version>', 'default: the newest known')
      .addOption(new Option('--on-failure <policy>', 'what the run does when items failed for good').choices(FAILURE_POLICIES))
      .option('--max-failures <n>', 'failures an item may have', wholeNumber(1, 1_000_000))
      .option('--max-concurrency <n>', 'items of this run at work at once', wholeNumber(1, 1_000_000))
      .option('--watch', 'stay and show its progress')),
    async run({ args, options, out }) {
      const [agent = ''] = args
      const input = options.input === undefined ? undefined : readJson(options.input, '--input')
      if (options.input === '@-' && options.items === '-') throw new UsageError('--input and --items cannot both come from stdin. Give one of them as a file.')
      const client = await openClient(options, out, { agents: true })
      try {
        const started = await start(client, agent, input, options)
        out.emit(started)
        out.line(started.isNew ? `Started run ${started.id}.` : `Run ${started.id} was started under this key before; nothing was started again.`)
        if (options.watch) return await watchToItsEnd(client, started.id, out)
        out.line(`Watch it with: pawl run watch ${started.id}`)
        return exitOf.ok
      } finally {
        await client.close()
      }
    },
  })
}

async function start(client: PawlClient, agent: string, input: unknown, options: StartOptions): Promise<StartedRun> {
  const policy: RunPolicyRequest = { onFailure: options.onFailure, maxFailures: options.maxFailures, maxConcurrency: options.maxConcurrency }
  const rest = { version: options.agentVersion, labels: options.label, policy }
  if (options.items === undefined) return await client.startRun(agent, input ?? {}, { ...rest, idempotencyKey: options.key })
  const items = new ItemsFile(options.items)
  try {
    return await client.startRunFromStream({ agent, input: input ?? {}, ...rest }, items, { idempotencyKey: options.key })
  } catch (error) {
    throw items.failure ?? error
  }
}
