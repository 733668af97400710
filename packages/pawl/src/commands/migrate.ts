import { migrateLedger } from '@pawl/ledger'
import type { Command } from 'commander'
import { addLeaf } from '../cli/leaf.ts'
import { addDatabaseOptions, openLedger, type DatabaseOptions } from '../cli/place.ts'

/** `pawl migrate`: brings the ledger's schema up to this build. JSON: `{ host, applied: [names] }`. */
export function addMigrate(parent: Command): void {
  addLeaf<DatabaseOptions>(parent, {
    usage: 'migrate', about: "create the ledger's schema, or bring it up to this version", options: addDatabaseOptions,
    async run({ options, out }) {
      const ledger = await openLedger(options, out)
      try {
        // Answers, or says in a second which host does not: the migration's own transaction would wait longer.
        await ledger.query('select 1 as one', [], { retryForMs: 5_000 })
        const applied = await migrateLedger(ledger)
        out.line(applied.length === 0 ? `The ledger at ${ledger.host} is up to date.` : `The ledger at ${ledger.host} now has ${applied.join(', ')}.`)
        out.emit({ host: ledger.host, applied })
      } finally {
        await ledger.close()
      }
    },
  })
}
