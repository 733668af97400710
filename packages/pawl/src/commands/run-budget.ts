import type { Command } from 'commander'
import { durationMs } from '@pawl/core'
import { exitOf } from '../cli/exit-codes.ts'
import { addLeaf } from '../cli/leaf.ts'
import { wholeNumber } from '../cli/parse.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { paintStatus } from '../cli/status.ts'

interface BudgetOptions extends PlaceOptions {
  readonly turns?: number
  readonly tokens?: number
  readonly cost?: string
  readonly wall?: string
  readonly perItem?: boolean
  readonly note?: string
}

const most = Number.MAX_SAFE_INTEGER

/** `pawl run budget <run>`. JSON: `VerbAnswer`. */
export function addRunBudget(parent: Command): void {
  addLeaf<BudgetOptions>(parent, {
    usage: 'budget <run>', about: 'give it other limits for what its models may spend; items that wait for it go on',
    options: (command) => addPlaceOptions(command)
      .option('--turns <n>', 'turns', wholeNumber(1, most))
      .option('--tokens <n>', 'input and output tokens', wholeNumber(1, most))
      .option('--cost <amount>', 'in the currency of the agent\'s prices')
      .option('--wall <duration>', 'since the start: 30m, 12h')
      .option('--per-item', 'of each item, not of the whole run')
      .option('--note <text>', 'kept with the event'),
    run: async ({ args: [runId = ''], options, out }) => {
      const { turns, tokens, cost, wall } = options
      const limits = {
        ...(turns === undefined ? {} : { turns }), ...(tokens === undefined ? {} : { tokens }),
        ...(cost === undefined ? {} : { cost: Number(cost) }), ...(wall === undefined ? {} : { wallMs: durationMs(wall, '--wall') }),
      }
      const client = await openClient(options, out)
      try {
        const answer = await client.setBudget(runId, { [options.perItem ? 'item' : 'run']: limits, note: options.note })
        out.emit(answer)
        out.line(`Run ${runId} is ${paintStatus(answer.status)}; its budget is changed.`)
        return exitOf.ok
      } finally {
        await client.close()
      }
    },
  })
}
