/** A worker that was cut off comes back with calls that nobody else remembers: a person is shown them, also when the ledger was cleared before it came. */
import { newId } from '@pawl/core'
import { clearLedger, noteLoss, readGap, readHistory, readIdentity } from '@pawl/ledger'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { actionNow, claim, finishOne, openStage, runOf, started, type Stage } from '../../ledger/src/stage.testsuite.ts'
import { Trust } from './trust.ts'

let stage: Stage
let said: string[]
beforeEach(async () => {
  stage = await openStage()
  said = []
})
afterEach(() => stage.close())

/** It has made these calls, whose intents the ledger has lost; their items have ended without them. */
async function workerWith(...keys: string[]): Promise<{ trust: Trust; runId: string }> {
  const ledger = stage.another({ name: 'cut off' })
  const trust = new Trust(ledger, await readIdentity(ledger), newId(), (_, line) => said.push(line), () => {})
  const runId = await runOf(stage, 1)
  const by = await claim(stage, runId, 1)
  for (const key of keys) {
    await started(stage, by, key)
    trust.remember(await actionNow(stage, runId, key))
  }
  await stage.rows('delete from pawl.actions where run_id = $1', [runId])
  await finishOne(stage, by)
  return { trust, runId }
}

async function clear(): Promise<void> {
  expect(await clearLedger(stage.ledger, 'ann', (await readGap(stage.ledger)).digest)).toBe(true)
}
/** A heartbeat, and all that follows from it. */
async function looks(trust: Trust): Promise<void> {
  await trust.look()
  await trust.recover()
}
const lostKeys = async (): Promise<string[]> => (await readGap(stage.ledger)).lostCalls.map(({ key }) => key)

test('what it could not bring back holds the ledger once more, where the ledger was cleared before; once it was shown, it holds nothing', async () => {
  const { trust } = await workerWith('k')
  const second = await workerWith()
  await noteLoss(stage.ledger, await readHistory(stage.ledger), 'promoted')
  await clear()
  await looks(trust)
  expect([trust.isTrusted, await lostKeys(), (await readIdentity(stage.ledger)).isTrusted]).toEqual([false, ['k'], false])
  expect(said.at(-1)).toContain('pawl ledger clear')
  await clear()
  for (const worker of [trust, second.trust]) {
    await looks(worker)
    await looks(worker)
    expect(worker.isTrusted).toBe(true)
  }
  // And a later loss, noted and cleared between two looks of its, is no news of these.
  await noteLoss(stage.ledger, await readHistory(stage.ledger), 'promoted again')
  await clear()
  await looks(trust)
  expect([trust.isTrusted, (await readIdentity(stage.ledger)).isTrusted]).toEqual([true, true])
})

test('nor are they lost where it is cleared while they are being brought back', async () => {
  const { trust, runId } = await workerWith('k')
  await noteLoss(stage.ledger, await readHistory(stage.ledger), 'promoted')
  const holder = stage.session()
  await holder.query('begin')
  await holder.query('select 1 from pawl.items where run_id = $1 for update', [runId])
  const looking = trust.look()
  await stage.waits('cut off')
  await clear()
  await holder.query('commit')
  await looking
  await trust.recover()
  expect([trust.isTrusted, await lostKeys()]).toEqual([false, ['k']])
})

test('it is named until it has said what it remembers, whether there was anything or not', async () => {
  const { trust } = await workerWith()
  const [before] = await stage.rows<{ id: string }>(`insert into pawl.workers (id, name, host, pid, serves) values (gen_random_uuid(), 'cut off', 'h', 7, '[]') returning id`)
  const ledger = stage.another()
  const registered = new Trust(ledger, await readIdentity(ledger), before?.id ?? '', () => {}, () => {})
  await noteLoss(stage.ledger, await readHistory(stage.ledger), 'promoted')
  const unreported = async (): Promise<number> => (await readGap(stage.ledger)).unreported.length
  expect(await unreported()).toBe(1)
  await looks(trust)
  expect(await unreported()).toBe(1)
  await looks(registered)
  expect(await unreported()).toBe(0)
})
