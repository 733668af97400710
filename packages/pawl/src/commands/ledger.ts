import { PawlError } from '@pawl/core'
import { clearLedger, countDoubts, readGap, readIdentity, type Gap } from '@pawl/ledger'
import type { Command } from 'commander'
import { exitOf } from '../cli/exit-codes.ts'
import { UsageError } from '../cli/fail.ts'
import { addLeaf } from '../cli/leaf.ts'
import type { Output } from '../cli/output.ts'
import { addDatabaseOptions, cliActor, openLedger, type DatabaseOptions } from '../cli/place.ts'
import { many, plain } from '../cli/plain.ts'
import { clearCommand, findingsOf } from '../doctor/check-gap.ts'
import { showFindings } from '../doctor/show-findings.ts'

interface ClearOptions extends DatabaseOptions {
  /** True: the name of what was looked at is missing. */
  readonly reviewed?: string | true
}

/**
 * `pawl ledger clear`: after a restore or failover, what may be missing, whole, and the command that clears it; with `--reviewed <gap>`, a person's word that this
 * was looked at. JSON: `{ id, wasTrusted, cleared, gap }`; `gap` is null when there was nothing to clear, and in the error's details where nothing was cleared.
 */
export function addLedger(parent: Command): void {
  addLeaf<ClearOptions>(parent.command('ledger').description('the ledger itself'), {
    usage: 'clear', about: 'let sends go on after a restore or failover that may have lost its last writes',
    options: (command) => addDatabaseOptions(command.option('--reviewed [gap]', 'what is shown without this was looked at, at the receivers, by a person; named as it is shown there')),
    async run({ options: { reviewed, ...place }, out }) {
      const ledger = await openLedger(place, out)
      try {
        const { id, isTrusted } = await readIdentity(ledger)
        const gap = isTrusted ? null : await readGap(ledger)
        if (gap !== null && typeof reviewed !== 'string') {
          const { unsettled, inDoubt } = await countDoubts(ledger)
          throw refusal(out, gap, new UsageError(`The ledger at ${ledger.host} is not on the server, or the history, it was written on: the last acknowledged calls may be missing from it, and a run that goes on could send them again. It has ${many(unsettled, 'unsettled call')} and ${inDoubt} in doubt. Compare what may be missing with what the receivers got, then: ${clearCommand(gap)}`, { gap }))
        }
        if (typeof reviewed === 'string' && gap !== null && !(await clearLedger(ledger, cliActor(), reviewed))) {
          const now = await readGap(ledger)
          throw refusal(out, now, new PawlError('GAP_CHANGED', `Nothing was cleared: what may be missing is no longer what "${plain(reviewed)}" stood for, workers have noted more since. Look at what there is now, then: ${clearCommand(now)}`, 'tell', { gap: now }))
        }
        out.emit({ id, wasTrusted: isTrusted, cleared: !isTrusted, gap })
        out.line(isTrusted ? `The ledger at ${ledger.host} is on its own server and history; there is nothing to clear.` : `Cleared by ${cliActor()}. Workers go on by themselves within seconds.`)
        return exitOf.ok
      } finally {
        await ledger.close()
      }
    },
  })
}

/** All of the gap before the sentence: what is not shown cannot have been looked at. */
function refusal(out: Output, gap: Gap, error: PawlError): PawlError {
  showFindings(out, findingsOf(gap))
  return error
}
