/** Several instances start on an empty database at the same moment, many times over. */
import { checkSchema, Ledger, migrateLedger, readIdentity } from '@pawl/ledger'
import { Findings } from '../findings.ts'
import type { CaseOutcome, CaseServices } from '../literal-case.ts'

export async function case108(services: CaseServices, { instances, times }: { instances: number; times: number }): Promise<CaseOutcome> {
  const found = new Findings()
  for (let n = 0; n < times; n++) {
    const url = await services.freshDatabase()
    const ledgers = Array.from({ length: instances }, () => new Ledger({ url }))
    const ids = await Promise.all(ledgers.map(async (ledger) => {
      await migrateLedger(ledger)
      await checkSchema(ledger)
      return (await readIdentity(ledger)).id
    }).map((start) => start.catch((error: unknown) => String(error))))
    found.is(`${n + 1}: ledgers seen`, new Set(ids).size, 1)
    const twice = await ledgers[0]?.query('select name from pawl_meta.migrations group by name having count(*) > 1')
    found.is(`${n + 1}: migrations recorded twice`, twice, [])
    await Promise.all(ledgers.map((ledger) => ledger.close()))
  }
  found.figure('starts', instances * times)
  return found.outcome()
}
