/** A person clears what they were shown, and nothing that came after it. */
import { newId, newRunId } from '@pawl/core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { clearLedger, noteLoss, readHistory, readIdentity, type LostCall } from '../identity.ts'
import { readGap } from '../reads/read-gap.ts'
import { openStage, type Stage } from '../stage.testsuite.ts'
import { beat, removeSilentWorkers } from './fleet.ts'

let stage: Stage
beforeAll(async () => { stage = await openStage() })
afterAll(async () => { await stage.close() })
beforeEach(async () => {
  const { digest } = await readGap(stage.ledger)
  await clearLedger(stage.ledger, 'ann', digest)
  await stage.rows('delete from pawl.workers')
})

const lostCall = (given: Partial<LostCall> = {}): LostCall =>
  ({ run: newRunId(), item: 1, key: 'k', tool: 'opaque', effect: 'non-idempotent', at: new Date().toISOString(), why: 'ended', ...given })
const keysOf = async (): Promise<string[]> => (await readGap(stage.ledger)).lostCalls.map((call) => call.key)
const isTrusted = async (): Promise<boolean> => (await readIdentity(stage.ledger)).isTrusted

test('lost calls that were noted after a person was shown the gap are not cleared with it', async () => {
  const seen = await readHistory(stage.ledger)
  await noteLoss(stage.ledger, seen, 'promoted')
  const shown = await readGap(stage.ledger)
  expect(shown.lostCalls).toEqual([])
  await noteLoss(stage.ledger, seen, 'promoted', { lost: [lostCall()] })
  expect(await clearLedger(stage.ledger, 'ann', shown.digest)).toBe(false)
  expect([await isTrusted(), await keysOf()]).toEqual([false, ['k']])
  expect(await clearLedger(stage.ledger, 'ann', (await readGap(stage.ledger)).digest)).toBe(true)
  expect(await isTrusted()).toBe(true)
})

test('nor are those that are being noted in the moment in which it is cleared', async () => {
  await noteLoss(stage.ledger, await readHistory(stage.ledger), 'promoted')
  const { digest } = await readGap(stage.ledger)
  const noting = stage.session()
  await noting.query('begin')
  await noting.query(`select pawl.note_loss(l.written_in, 'promoted', $1::text::jsonb) from pawl.ledger l`, [JSON.stringify([lostCall()])])
  const clearing = clearLedger(stage.another({ name: 'clears' }), 'ann', digest)
  await stage.waits('clears')
  await noting.query('commit')
  expect(await clearing).toBe(false)
  expect(await keysOf()).toEqual(['k'])
})

test('what is noted while it is being cleared is told that it was, and is noted late', async () => {
  const seen = await readHistory(stage.ledger)
  await noteLoss(stage.ledger, seen, 'promoted')
  const { digest } = await readGap(stage.ledger)
  const clearing = stage.session()
  await clearing.query('begin')
  await clearing.query(`select pawl.clear_ledger('ann', $1)`, [digest])
  const noting = noteLoss(stage.another({ name: 'notes' }), seen, 'promoted', { lost: [lostCall()] })
  await stage.waits('notes')
  await clearing.query('commit')
  expect(await noting).toBe(false)
  expect(await isTrusted()).toBe(true)
  expect(await noteLoss(stage.ledger, await readHistory(stage.ledger), 'late', { lost: [lostCall()], isLate: true })).toBe(true)
  expect([await isTrusted(), await keysOf()]).toEqual([false, ['k']])
})

test('a late call that a person was shown before the clearing holds nothing; a call two workers remember is shown once', async () => {
  const call = lostCall({ key: 'shown' })
  const seen = await readHistory(stage.ledger)
  for (let n = 0; n < 2; n++) await noteLoss(stage.ledger, seen, 'promoted', { lost: n === 0 ? [] : [call] })
  await noteLoss(stage.ledger, seen, 'promoted', { lost: [{ ...call, at: new Date(0).toISOString() }] })
  expect(await keysOf()).toEqual(['shown'])
  await clearLedger(stage.ledger, 'ann', (await readGap(stage.ledger)).digest)
  const now = await readHistory(stage.ledger)
  expect(await noteLoss(stage.ledger, now, 'late', { lost: [call], isLate: true })).toBe(true)
  expect(await isTrusted()).toBe(true)
  await noteLoss(stage.ledger, now, 'late', { lost: [call, lostCall({ key: 'new' })], isLate: true })
  expect(await keysOf()).toEqual(['new'])
})

test('a second loss before the clearing is not what was shown', async () => {
  await stage.rows(`update pawl.ledger set timeline = '000000FF'`)
  const { digest, noticedAt } = await readGap(stage.ledger)
  expect(noticedAt).toBeNull()
  await noteLoss(stage.ledger, await readHistory(stage.ledger), 'and files were put back')
  expect(await clearLedger(stage.ledger, 'ann', digest)).toBe(false)
  expect(await isTrusted()).toBe(false)
})

test('workers that have not said what they remember are named until they have, also when they are silent for a while; those that began later are not', async () => {
  const workerOf = (name: string) => ({ id: newId(), name, host: 'h', bootId: null, pidNamespace: null, pid: 7, pidStartedAt: null })
  const [told, cutOff, later] = [workerOf('told'), workerOf('cut-off'), workerOf('later')]
  const began = (name: string, when: string) => stage.rows(`update pawl.workers w set started_at = ${when} from pawl.ledger l where w.name = '${name}'`)
  for (const worker of [told, cutOff]) await beat(stage.ledger, worker, [])
  const seen = await readHistory(stage.ledger)
  await noteLoss(stage.ledger, seen, 'promoted')
  await beat(stage.ledger, later, [])
  await began('told', `l.noticed_at - interval '1 second'`)
  // In the very millisecond of the notice, which is as fine as the ledger keeps times: it may have been there before.
  await began('cut-off', 'l.noticed_at')
  await began('later', `l.noticed_at + interval '1 millisecond'`)
  const named = async (): Promise<string[]> => (await readGap(stage.ledger)).unreported.map(({ name }) => name).toSorted()
  expect(await named()).toEqual(['cut-off', 'told'])
  const { digest } = await readGap(stage.ledger)
  await noteLoss(stage.ledger, seen, 'promoted', { workerId: told.id })
  await stage.rows(`update pawl.workers set heartbeat_at = clock_timestamp() - interval '2 minutes' where name <> 'later'`)
  await removeSilentWorkers(stage.ledger)
  expect(await named()).toEqual(['cut-off'])
  expect(await stage.rows('select name from pawl.workers order by name')).toEqual([{ name: 'cut-off' }, { name: 'later' }])
  // One that had nothing to tell changes nothing of what was shown.
  expect(await clearLedger(stage.ledger, 'ann', digest)).toBe(true)
  await removeSilentWorkers(stage.ledger)
  expect(await stage.rows('select name from pawl.workers')).toEqual([{ name: 'later' }])
})
