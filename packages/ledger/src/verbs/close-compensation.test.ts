import { afterAll, beforeAll, expect, test } from 'vitest'
import { claim, endLease, openStage, runOf, started, type Stage } from '../stage.testsuite.ts'
import { closeCompensation, startCompensation } from './runs.ts'
import { settleAction } from './settle.ts'

let stage: Stage
beforeAll(async () => { stage = await openStage() })
afterAll(async () => { await stage.close() })

test('a compensation does not close around a call that is unsettled or in doubt', async () => {
  const runId = await runOf(stage, 1)
  await started(stage, await claim(stage, runId, 1), 'k')
  await startCompensation(stage.ledger, runId, 'ann', null)
  const by = await claim(stage, runId, await stage.value<number>(`select seq from pawl.items where run_id = $1 and kind = 'compensate'`, [runId]))
  expect((await closeCompensation(stage.ledger, by)).outcome).toBe('open')
  await settleAction(stage.ledger, by, 'k', { verdict: 'in_doubt', by: 'pawl' })
  expect((await closeCompensation(stage.ledger, by)).outcome).toBe('open')
  await settleAction(stage.ledger, by, 'k', { verdict: 'not_applied', by: 'verify' })
  expect(await closeCompensation(stage.ledger, by)).toEqual({ outcome: 'closed', residue: 0 })
})

test('a compensator that lost its item closes nothing', async () => {
  const runId = await runOf(stage, 1)
  await startCompensation(stage.ledger, runId, 'ann', null)
  const by = await claim(stage, runId, await stage.value<number>(`select seq from pawl.items where run_id = $1 and kind = 'compensate'`, [runId]))
  await endLease(stage, by)
  const next = await claim(stage, runId, by.seq)
  expect(await closeCompensation(stage.ledger, by)).toEqual({ outcome: 'fenced', residue: null })
  expect(await closeCompensation(stage.ledger, next)).toEqual({ outcome: 'closed', residue: 0 })
})
