import { inboxToWire } from '@pawl/client'
import type { Command } from 'commander'
import { answersTo, showEntry } from '../cli/answers.ts'
import { addLeaf } from '../cli/leaf.ts'
import { addPagingOptions, pageOf, sayMore, type PagingOptions } from '../cli/paging.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'

interface InboxOptions extends PlaceOptions, PagingOptions {
  readonly run?: string
}

/** `pawl inbox`. JSON: `{ entries: (InboxItem & { commands })[], cursor }`. */
export function addInbox(parent: Command): void {
  addLeaf<InboxOptions>(parent, {
    usage: 'inbox', about: 'what waits for a person, and the command that answers it',
    options: (command) => addPlaceOptions(addPagingOptions(command.option('--run <run>', 'only of this run'))),
    async run({ options, out }) {
      const client = await openClient(options, out)
      try {
        const page = await client.inbox({ runId: options.run, ...pageOf(options) })
        out.emit({ ...page, entries: page.entries.map((entry) => ({ ...inboxToWire(entry), commands: answersTo(entry) })) })
        if (page.entries.length === 0) out.line('Nothing waits for a person.')
        for (const [i, entry] of page.entries.entries()) {
          if (i > 0) out.line()
          showEntry(out, entry)
        }
        sayMore(out, page.cursor)
      } finally {
        await client.close()
      }
    },
  })
}
