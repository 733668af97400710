import { newId } from '@pawl/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { actionNow, claim, completionOf, endLease, flushOne, openStage, runOf, started, type Stage } from './stage.testsuite.ts'
import { withTransaction } from './transaction.ts'
import { addEvidence, rearmAction, settleAction } from './verbs/settle.ts'

let stage: Stage
beforeAll(async () => { stage = await openStage() })
afterAll(async () => { await stage.close() })

test('a refused second send is no refusal of the call once the first is proved applied', async () => {
  const runId = await runOf(stage, 1)
  const a = await claim(stage, runId, 1)
  await started(stage, a, 'k')
  await endLease(stage, a)
  const b = await claim(stage, runId, 1)
  expect((await settleAction(stage.ledger, b, 'k', { verdict: 'not_applied', by: 'verify' }))?.status).toBe('failed')
  const token = newId()
  expect((await rearmAction(stage.ledger, b, 'k', token, '1', 0)).outcome).toBe('sent')
  await addEvidence(stage.ledger, runId, 'k', { entry: '"late"', result: '"true"' })
  await flushOne(stage.ledger, b, { completions: [completionOf({ key: 'k', token }, { outcome: 'refused', result: null, error: '{}' })] })
  expect((await actionNow(stage, runId, 'k')).status).toBe('started')
})

test('a transaction whose process stands still gives the item back in the end', async () => {
  const runId = await runOf(stage, 1)
  const a = await claim(stage, runId, 1)
  let isHeld: () => void = () => {}
  const held = new Promise<void>((resolve) => { isHeld = resolve })
  const stuck = withTransaction(stage.another(), { timeoutMs: 200 }, async (tx) => {
    await tx.query('update pawl.items set barren_attempts = 0 where run_id = $1 and seq = $2', [a.runId, a.seq])
    isHeld()
    await new Promise((resolve) => setTimeout(resolve, 6_000))
  }).catch((error: unknown) => error)
  await held
  const began = Date.now()
  await stage.rows('select 1 from pawl.items where run_id = $1 and seq = $2 for update', [a.runId, a.seq])
  expect(Date.now() - began).toBeLessThan(3_000)
  void stuck
})
