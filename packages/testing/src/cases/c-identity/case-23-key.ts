/** Case 23 with an agent whose code decides (with a model: the harness's loop-cases.test.ts): whatever changes from attempt to attempt, one call has one key, in the ledger and outside. */
import type { CaseStage, CaseTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome } from '../literal-case.ts'

export async function playOneKey(stage: CaseStage<CaseTool>): Promise<CaseOutcome> {
  const findings = new Findings()
  const subjects = ['first run', 'second run'].map((name) => `key of the ${name}`)
  const runs: string[] = []
  for (const subject of subjects) {
    stage.effects.program(subject, [{ drop: 'before' }, { drop: 'after' }, {}])
    runs.push(await stage.start(async ({ tools, ctx }) => {
      await tools.keyed({ subject })
      if (ctx.attempt === 1) throw new Error('once more')
    }))
  }
  for (const runId of runs) findings.is('the run', (await stage.workers.runIs(runId)).status, 'completed')
  const keys = subjects.map((subject) => [...new Set(stage.effects.receipts({ subject }).map((receipt) => receipt.key))])
  findings.is('receipts', subjects.map((subject) => stage.receipts(subject)), [3, 3])
  findings.is('effects', subjects.map((subject) => stage.applied(subject)), [1, 1])
  findings.is('keys of each call', keys.map((all) => all.length), [1, 1])
  findings.is('keys in the ledger', await Promise.all(runs.map(async (runId) => (await stage.actions(runId)).map((action) => action.key))), keys)
  findings.is('one key for two runs', keys[0]?.[0] === keys[1]?.[0], false)
  // A digest: nothing of a provider, a time or a person can be read in it.
  findings.is('keys that are digests', keys.flat().filter((key) => /^pawl-[\w-]{43}$/.test(key)).length, 2)
  return findings.outcome()
}
