import { itemToWire } from '@pawl/client'
import { ITEM_KINDS, ITEM_STATUSES, type ItemKind, type ItemStatus } from '@pawl/core'
import { Option, type Command } from 'commander'
import { addLeaf } from '../cli/leaf.ts'
import { addPagingOptions, pageOf, sayMore, type PagingOptions } from '../cli/paging.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { cut, short } from '../cli/plain.ts'
import { paintStatus } from '../cli/status.ts'

interface ItemsOptions extends PlaceOptions, PagingOptions {
  readonly status?: ItemStatus
  readonly kind?: ItemKind
}

/** `pawl run items <run>`. JSON: `{ entries: Item[], cursor }`. */
export function addRunItems(parent: Command): void {
  addLeaf<ItemsOptions>(parent, {
    usage: 'items <run>', about: 'its items',
    options: (command) => addPlaceOptions(addPagingOptions(command
      .addOption(new Option('--status <status>', 'only in this status').choices(ITEM_STATUSES))
      .addOption(new Option('--kind <kind>', 'only of this kind').choices(ITEM_KINDS)))),
    async run({ args, options, out }) {
      const [runId = ''] = args
      const client = await openClient(options, out)
      try {
        const page = await client.listItems(runId, { status: options.status, kind: options.kind, ...pageOf(options) })
        out.emit({ ...page, entries: page.entries.map(itemToWire) })
        if (page.entries.length === 0) out.line('No such items.')
        else {
          out.table(columns, page.entries.map((item) => [
            String(item.seq), item.kind === 'work' ? cut(item.key, 60) : `(${item.kind})`, item.blockedReason === null ? item.status : `${item.status} (${item.blockedReason})`,
            String(item.attempts), String(item.failures), item.error !== null && item.status !== 'done' ? cut(item.error.message, 80) : item.resultRef !== null ? cut(item.resultRef, 80) : short(item.result, 80),
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
  { name: 'item', align: 'right' }, { name: 'key' }, { name: 'status', paint: paintStatus }, { name: 'attempts', align: 'right' }, { name: 'failures', align: 'right' }, { name: 'result or error' },
] as const
