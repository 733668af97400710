import { exportLineToWire } from '@pawl/client'
import { once } from 'node:events'
import { createWriteStream, renameSync, rmSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import type { Writable } from 'node:stream'
import type { Command } from 'commander'
import { exitOf } from '../cli/exit-codes.ts'
import { addLeaf } from '../cli/leaf.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { many } from '../cli/plain.ts'

interface ExportOptions extends PlaceOptions {
  readonly out?: string
}

/** `pawl run export <run>`: lines of JSON, the last one counts the others; with or without `--json`. A file is there whole, or not at all. */
export function addRunExport(parent: Command): void {
  addLeaf<ExportOptions>(parent, {
    usage: 'export <run>', about: 'all the ledger has of it, as lines of JSON; the last one counts the others',
    options: (command) => addPlaceOptions(command.option('--out <file>', 'into a file (default: stdout)')),
    async run({ args: [runId = ''], options, out }) {
      const client = await openClient(options, out)
      const draft = options.out === undefined ? undefined : `${options.out}.${process.pid}.part`
      try {
        const sink = draft === undefined ? process.stdout : createWriteStream(draft)
        let lines = 0
        for await (const line of client.exportRun(runId)) {
          lines += 1
          await write(sink, `${JSON.stringify(exportLineToWire(line))}\n`)
        }
        if (draft !== undefined && options.out !== undefined) {
          sink.end()
          await finished(sink)
          renameSync(draft, options.out)
          out.remark(`${options.out} has ${many(lines, 'line')}`)
        }
        return exitOf.ok
      } finally {
        if (draft !== undefined) rmSync(draft, { force: true })
        await client.close()
      }
    },
  })
}

/** Waits for the reader: a run may be larger than memory. */
async function write(sink: Writable, text: string): Promise<void> {
  if (!sink.write(text)) await once(sink, 'drain')
}
