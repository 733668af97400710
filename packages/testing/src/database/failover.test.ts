import { join } from 'node:path'
import { startEmbedded } from '@pawl/embedded'
import { clearLedger, Ledger, migrateLedger, noteLoss, readGap, readHistory, readIdentity } from '@pawl/ledger'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../virtual-workers.ts'
import { openGround, type Ground } from './failover.testsuite.ts'
import { startFaultProxy } from '../fault-proxy.ts'
import { copyServer, startStandby, type Standby } from './standby.ts'

let ground: Ground
let standby: Standby
beforeAll(async () => { ground = await openGround() }, 120_000)
afterAll(async () => {
  await standby.stop()
  await ground.close()
})

test('a promoted replica that lacks the last writes: nothing is sent until a person clears the ledger, and a call that only a worker remembers is not made again', async () => {
  const fleet = await ground.fleet()
  const { effects } = ground
  const receipts = (subject: string): number => effects.receipts({ subject }).length
  const id = await fleet.startRun(ground.agent, {}, { items: [{ key: 'one', payload: 'a' }] })
  await until('the first call is made', () => receipts('a kept') === 1)
  standby = await startStandby(ground.primary, join(ground.folder, 'standby'))
  await standby.caughtUp()
  await standby.cutOff()
  ground.open('first')
  await until('the call whose intent will be lost is recorded on the old primary', async () =>
    (await ground.rows(`select 1 from pawl.actions where status = 'committed' and args like '%a lost%'`)).length === 1)

  await standby.promote()
  ground.proxy.retarget(standby.url)
  ground.proxy.cut()
  await until('a worker notices', async () => (await ground.rows('select 1 from pawl.ledger where noticed_at is not null and kept_until < noticed_at')).length === 1)
  await until('its memory is in the ledger', async () => (await ground.rows(`select 1 from pawl.actions where status = 'started' and applied_evidence is not null and args like '%a lost%'`)).length === 1)
  await until('its item is handed back', async () => (await ground.rows(`select 1 from pawl.items where status = 'pending'`)).length === 1)

  // Everybody may go on, if they would: a new run, the item that was handed back, a worker that starts now.
  const later = await fleet.startRun(ground.agent, {}, { items: [{ key: 'two', payload: 'b' }] })
  await fleet.startWorker()
  ground.open('second')
  const [before] = await ground.rows<{ cycles: string }>('select cycles from pawl.sweeper')
  await until('ten sweeps have looked', async () => Number((await ground.rows<{ cycles: string }>('select cycles from pawl.sweeper'))[0]?.cycles) > Number(before?.cycles ?? 0) + 10)
  expect(['a kept', 'a lost', 'a last', 'b kept'].map(receipts)).toEqual([1, 1, 0, 0])
  expect(await ground.rows(`select i.attempts, i.dispatched_at from pawl.items i where i.run_id = '${later}'`)).toEqual([{ attempts: 0, dispatched_at: null }])

  expect(await clearLedger(fleet.ledger, 'ann', (await readGap(fleet.ledger)).digest)).toBe(true)
  expect((await fleet.runIs(id)).status).toBe('completed')
  expect((await fleet.runIs(later)).status).toBe('completed')
  expect(['a kept', 'a lost', 'a last', 'b kept', 'b lost', 'b last'].map(receipts)).toEqual([1, 1, 1, 1, 1, 1])
  expect(await ground.rows(`select settled_by from pawl.actions where args like '%a lost%'`)).toEqual([{ settled_by: 'evidence' }])
  await fleet.close()
}, 120_000)

test('files put back as they had been keep server, timeline and rows, and a process that was told a later position knows', async () => {
  const [place, old] = [join(ground.folder, 'disk'), join(ground.folder, 'snapshot')]
  const before = await startEmbedded({ folder: place })
  const proxy = await startFaultProxy(before.url)
  const ledger = new Ledger({ url: proxy.url, connections: 1 })
  await migrateLedger(ledger)
  await before.release()
  copyServer(place, old)
  const after = await startEmbedded({ folder: place })
  proxy.retarget(after.url)
  await ledger.query('create table public.written_later (n integer)', [], { retryForMs: 10_000 })
  const { history } = await readIdentity(ledger)
  expect(await readHistory(ledger)).toMatchObject({ isKnown: true, hasGoneBack: false })
  await after.release()
  const snapshot = await startEmbedded({ folder: old })
  proxy.retarget(snapshot.url)
  expect((await readIdentity(ledger)).history).toEqual({ ...history, hasGoneBack: true })
  expect(await noteLoss(ledger, history, 'the files went back')).toBe(true)
  expect(await readIdentity(ledger)).toMatchObject({ isTrusted: false })
  await ledger.close()
  await proxy.close()
  await snapshot.release()
}, 120_000)
