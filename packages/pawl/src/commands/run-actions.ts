import { actionToWire } from '@pawl/client'
import { ACTION_STATUSES, type ActionStatus } from '@pawl/core'
import { Option, type Command } from 'commander'
import { addLeaf } from '../cli/leaf.ts'
import { addPagingOptions, pageOf, sayMore, type PagingOptions } from '../cli/paging.ts'
import { wholeNumber } from '../cli/parse.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { cut, short } from '../cli/plain.ts'
import { paintStatus } from '../cli/status.ts'

interface ActionsOptions extends PlaceOptions, PagingOptions {
  readonly item?: number
  readonly status?: ActionStatus
}

/** `pawl run actions <run>`. JSON: `{ entries: Action[], cursor }`. */
export function addRunActions(parent: Command): void {
  addLeaf<ActionsOptions>(parent, {
    usage: 'actions <run>', about: 'its tool calls as the ledger has them',
    options: (command) => addPlaceOptions(addPagingOptions(command
      .option('--item <seq>', 'only of this item', wholeNumber(0, 2_147_483_647))
      .addOption(new Option('--status <status>', 'only in this status').choices(ACTION_STATUSES)))),
    async run({ args, options, out }) {
      const [runId = ''] = args
      const client = await openClient(options, out)
      try {
        const page = await client.listActions(runId, { itemSeq: options.item, status: options.status, ...pageOf(options) })
        out.emit({ ...page, entries: page.entries.map(actionToWire) })
        if (page.entries.length === 0) out.line('No such actions.')
        else {
          out.table(columns, page.entries.map((action) => [
            String(action.id), String(action.itemSeq), action.tool, action.effect, action.status, String(action.attempt), cut(action.key, 24), short(action.args, 60),
            action.error !== null && action.status !== 'committed' ? cut(action.error.message, 60) : short(action.result, 60),
          ]))
        }
        sayMore(out, page.cursor)
      } finally {
        await client.close()
      }
    },
  })
}

const columns = [
  { name: 'action', align: 'right' }, { name: 'item', align: 'right' }, { name: 'tool' }, { name: 'effect' }, { name: 'status', paint: paintStatus },
  { name: 'sends', align: 'right' }, { name: 'key' }, { name: 'args' }, { name: 'result or error' },
] as const
