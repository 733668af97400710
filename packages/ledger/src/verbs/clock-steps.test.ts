/** The primary's clock steps back by an hour: nothing that was due, lost or abandoned before waits for it to come round again. */
import { newId } from '@pawl/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claim, finishOne, newRun, openStage, runOf, type Stage } from '../stage.testsuite.ts'
import { claimItems } from './claim-items.ts'
import { listUndelivered, takeDueItems } from './dispatch.ts'
import { blockItem, releaseItem } from './items.ts'
import { openStream, startRun } from './runs.ts'

let stage: Stage
beforeAll(async () => { stage = await openStage() })
afterAll(async () => { await stage.close() })

/** Everything that was written carries a time an hour ahead now. */
async function stepBack(runId: string): Promise<void> {
  await stage.rows(`update pawl.items set created_at = created_at + interval '1 hour', available_at = available_at + interval '1 hour', dispatched_at = dispatched_at + interval '1 hour' where run_id = $1`, [runId])
  await stage.rows(`update pawl.runs set stream_alive_at = stream_alive_at + interval '1 hour' where id = $1`, [runId])
}

test('items that were not delayed are due: new ones, handed back ones, released ones', async () => {
  const runId = await runOf(stage, 3)
  await finishOne(stage, await claim(stage, runId, 1), 'pending')
  const blocked = await claim(stage, runId, 2)
  await blockItem(stage.ledger, blocked, 'conflict', {})
  await releaseItem(stage.ledger, runId, 2, 'resume', { actor: 'ann' })
  await stepBack(runId)
  const { taken } = await takeDueItems(stage.ledger, runId)
  expect(taken.map((item) => item.seq).toSorted((a, b) => a - b)).toEqual([1, 2, 3])
  const answers = await claimItems(stage.ledger, taken.map(({ seq, generation }) => ({ runId, seq, generation })), { workerId: newId(), nonce: newId(), leaseMs: 15_000, alone: false })
  expect(answers.map((answer) => answer.verdict)).toEqual(['claimed', 'claimed', 'claimed'])
})

test('an item that is to wait still waits', async () => {
  const runId = await runOf(stage, 1)
  await finishOne(stage, await claim(stage, runId, 1), 'pending', { delayMs: 60_000 })
  expect((await takeDueItems(stage.ledger, runId)).taken).toEqual([])
})

test('an item whose doorbell was lost is looked for, and a dead producer\'s stream is free', async () => {
  const runId = await runOf(stage, 1)
  expect((await takeDueItems(stage.ledger, runId)).taken).toHaveLength(1)
  await stepBack(runId)
  expect((await listUndelivered(stage.ledger, 30_000)).filter((item) => item.runId === runId)).toHaveLength(1)
  const run = newRun()
  await startRun(stage.ledger, run)
  expect(await openStream(stage.ledger, run.id, 60_000)).toBe(1)
  expect(await openStream(stage.ledger, run.id, 60_000)).toBe(0)
  await stepBack(run.id)
  expect(await openStream(stage.ledger, run.id, 60_000)).toBe(2)
})
