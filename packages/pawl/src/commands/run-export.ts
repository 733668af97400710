import { exportLineToWire } from '@pawl/client'
import { once } from 'node:events'
import type { Command } from 'commander'
import { exitOf } from '../cli/exit-codes.ts'
import { addLeaf } from '../cli/leaf.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { many } from '../cli/plain.ts'
import { WholeFile } from '../cli/whole-file.ts'

interface ExportOptions extends PlaceOptions {
  readonly out?: string
}

/** `pawl run export <run>`: lines of JSON, the last one counts the others; with or without `--json`. A file is there whole, or not at all. */
export function addRunExport(parent: Command): void {
  addLeaf<ExportOptions>(parent, {
    usage: 'export <run>', about: 'all the ledger has of it, as lines of JSON; the last one counts the others',
    options: (command) => addPlaceOptions(command.option('--out <file>', 'into a file (default: stdout)')),
    async run({ args: [runId = ''], options, out }) {
      const file = options.out === undefined ? undefined : await WholeFile.open(options.out, '--out')
      try {
        const client = await openClient(options, out)
        try {
          let lines = 0
          for await (const line of client.exportRun(runId)) {
            lines += 1
            const text = `${JSON.stringify(exportLineToWire(line))}\n`
            await (file === undefined ? print(text) : file.add(text))
          }
          await file?.keep()
          if (options.out !== undefined) out.remark(`${options.out} has ${many(lines, 'line')}`)
          return exitOf.ok
        } finally {
          await client.close()
        }
      } finally {
        await file?.drop()
      }
    },
  })
}

/** Waits for the reader: a run may be larger than memory. */
async function print(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}
