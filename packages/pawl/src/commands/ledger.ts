import { clearLedger, countDoubts, readGap, readIdentity } from '@pawl/ledger'
import type { Command } from 'commander'
import { exitOf } from '../cli/exit-codes.ts'
import { UsageError } from '../cli/fail.ts'
import { addLeaf } from '../cli/leaf.ts'
import { addDatabaseOptions, cliActor, openLedger, type DatabaseOptions } from '../cli/place.ts'

interface ClearOptions extends DatabaseOptions {
  readonly reviewed?: boolean
}

/** `pawl ledger clear --reviewed`: after a restore or failover, a person's word that the gap was looked at. JSON: `{ id, wasTrusted, cleared, gap }`; `gap` is null when there was nothing to clear. */
export function addLedger(parent: Command): void {
  addLeaf<ClearOptions>(parent.command('ledger').description('the ledger itself'), {
    usage: 'clear', about: 'let sends go on after a restore or failover that may have lost its last writes',
    options: (command) => addDatabaseOptions(command.option('--reviewed', 'what may be missing was looked at, at the receivers, by a person')),
    async run({ options, out }) {
      const ledger = await openLedger(options, out)
      try {
        const { id, isTrusted } = await readIdentity(ledger)
        const { unsettled, inDoubt } = await countDoubts(ledger)
        if (!isTrusted && !options.reviewed) {
          throw new UsageError(`The ledger at ${ledger.host} is not on the server, or the history, it was written on: the last acknowledged calls may be missing from it, and a run that goes on could send them again. It has ${unsettled} unsettled calls and ${inDoubt} in doubt. See the gap with "pawl doctor", compare what the receivers got in it, then: pawl ledger clear --reviewed`)
        }
        const gap = isTrusted ? null : await readGap(ledger)
        if (!isTrusted) await clearLedger(ledger, cliActor())
        out.emit({ id, wasTrusted: isTrusted, cleared: !isTrusted, gap })
        out.line(isTrusted ? `The ledger at ${ledger.host} is on its own server and history; there is nothing to clear.` : `Cleared by ${cliActor()}. Workers go on by themselves within seconds.`)
        return exitOf.ok
      } finally {
        await ledger.close()
      }
    },
  })
}
