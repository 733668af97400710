import type { Command } from 'commander'
import { addLeaf } from '../cli/leaf.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { watchToItsEnd } from '../cli/watch.ts'

/** `pawl run watch <run>`. JSON: one `Progress` a line; the last one has `next` where a person is needed. */
export function addRunWatch(parent: Command): void {
  addLeaf<PlaceOptions>(parent, {
    usage: 'watch <run>', about: 'show its progress until it ends, or until only a person can move it (exit 3)', options: addPlaceOptions,
    async run({ args, options, out }) {
      const [runId = ''] = args
      const client = await openClient(options, out)
      try {
        return await watchToItsEnd(client, runId, out)
      } finally {
        await client.close()
      }
    },
  })
}
