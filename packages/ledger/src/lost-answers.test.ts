import { newId } from '@pawl/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Ledger } from './connect.ts'
import { startCuttingProxy, type CuttingProxy } from './cutting-proxy.testsuite.ts'
import { actionNow, claim, finishOne, itemNow, newRun, openStage, runOf, started, uniqueName, completionOf, flushOne, type Stage } from './stage.testsuite.ts'
import { advanceRun } from './verbs/dispatch.ts'
import { addItems, blockItem } from './verbs/items.ts'
import { closeRun, openStream, sealRun, startRun, appendItems } from './verbs/runs.ts'
import { addEvidence, rearmAction, settleAction } from './verbs/settle.ts'

let stage: Stage
let proxy: CuttingProxy
let ledger: Ledger
beforeAll(async () => {
  stage = await openStage()
  proxy = await startCuttingProxy(stage.url)
  ledger = new Ledger({ url: proxy.url, name: uniqueName(), connections: 1 })
})
afterAll(async () => {
  await ledger.close()
  await proxy.close()
  await stage.close()
})

/** The server does it, the answer never comes, the verb asks again by itself. */
async function losing<T>(verb: () => Promise<T>): Promise<T> {
  await ledger.query('select 1')
  const before = proxy.lost
  const lost = proxy.loseNextAnswer()
  const [answer] = await Promise.all([verb(), lost])
  expect(proxy.lost).toBe(before + 1)
  return answer
}

test('a claim whose answer is lost is the same claim: one epoch, one attempt', async () => {
  const runId = await runOf(stage, 1)
  const by = await losing(() => claim(stage, runId, 1, { ledger }))
  expect(by.epoch).toBe(1)
  expect(await itemNow(stage, by)).toMatchObject({ epoch: 1, attempts: 1, barren_attempts: 1 })
})

test('a start whose answer is lost finds its own run under its key', async () => {
  const run = newRun({ key: 'lost', digest: 'd', split: true })
  expect(await losing(() => startRun(ledger, run))).toMatchObject({ run_id: run.id, digest: 'd' })
  expect(await stage.value(`select count(*)::int from pawl.runs where id = $1`, [run.id])).toBe(1)
})

test('a chunk whose answer is lost is an error, and the reopened stream takes its keys over', async () => {
  const run = newRun()
  await startRun(stage.ledger, run)
  const stream = (await openStream(stage.ledger, run.id, 0))!
  const chunk = [{ key: 'a', payload: '1' }, { key: 'b', payload: '2' }]
  await losing(() => expect(appendItems(ledger, run.id, stream, chunk)).rejects.toMatchObject({ code: 'LEDGER_UNREACHABLE', next: 'retry' }))
  const again = (await openStream(stage.ledger, run.id, 0))!
  expect((await appendItems(stage.ledger, run.id, again, chunk)).outcome).toBe('added')
  expect(await losing(() => sealRun(ledger, run.id, again, 'd'))).toEqual({ outcome: 'sealed', total: 2 })
})

test('a re-send whose answer is lost is one send', async () => {
  const by = await claim(stage, await runOf(stage, 1), 1)
  const intent = await started(stage, by, 'k')
  await flushOne(stage.ledger, by, { completions: [completionOf(intent, { outcome: 'unsent', result: null })] })
  const token = newId()
  expect(await losing(() => rearmAction(ledger, by, 'k', token, '1', 0))).toMatchObject({ outcome: 'sent', action: { token, attempt: 2, sends: 2 } })
  expect(await actionNow(stage, by.runId, 'k')).toMatchObject({ attempt: 2, sends: 2 })
})

test('a verdict, a blocking, added items and an ending whose answer is lost are there once', async () => {
  const runId = await runOf(stage, 2)
  const by = await claim(stage, runId, 1)
  await started(stage, by, 'k')
  expect(await losing(() => settleAction(ledger, by, 'k', { verdict: 'in_doubt', by: 'pawl' }))).toMatchObject({ status: 'in_doubt' })
  expect(await stage.value(`select count(*)::int from pawl.events where run_id = $1 and kind = 'action.in_doubt'`, [runId])).toBe(1)
  expect(await losing(() => addItems(ledger, by, [{ key: 'more', payload: '1' }]))).toEqual({ outcome: 'added', names: null })
  expect(await stage.value('select items_total from pawl.runs where id = $1', [runId])).toBe(3)
  expect(await losing(() => blockItem(ledger, by, 'in_doubt', {}))).toBeNull() // read as fenced: the attempt is over either way
  expect(await itemNow(stage, by)).toMatchObject({ status: 'blocked', blocked_reason: 'in_doubt' })
  expect(await stage.value(`select count(*)::int from pawl.events where run_id = $1 and kind = 'item.blocked'`, [runId])).toBe(1)
  const other = await runOf(stage, 0)
  await advanceRun(stage.ledger, other)
  const finalizer = await claim(stage, other, 1)
  expect(await losing(() => closeRun(ledger, finalizer, { status: 'completed', result: null, error: null }))).toBe('fenced')
  expect(await stage.rows('select status from pawl.runs where id = $1', [other])).toEqual([{ status: 'completed' }])
  expect(await stage.value(`select count(*)::int from pawl.events where run_id = $1 and kind = 'run.ended'`, [other])).toBe(1)
})

test('a note whose answer is lost is an error and not written again; a proof is written again, and kept once', async () => {
  const by = await claim(stage, await runOf(stage, 1), 1)
  await started(stage, by, 'k')
  await losing(() => expect(addEvidence(ledger, by.runId, 'k', { entry: '"note"' })).rejects.toMatchObject({ code: 'LEDGER_UNREACHABLE' }))
  expect((await actionNow(stage, by.runId, 'k')).evidence).toEqual(['"note"'])
  await losing(() => addEvidence(ledger, by.runId, 'k', { entry: '"proof"', result: '1' }))
  expect(await actionNow(stage, by.runId, 'k')).toMatchObject({ evidence: ['"note"', '"proof"'], applied_evidence: '1' })
})

test('a ledger that cannot be reached says so in a sentence with its host, never with its password', async () => {
  const nowhere = new Ledger({ url: 'postgres://u:secret@127.0.0.1:1/x', name: uniqueName() })
  const failed = await nowhere.query('select 1').catch((error: unknown) => error as Error & { code: string })
  expect(failed).toMatchObject({ code: 'LEDGER_UNREACHABLE', next: 'retry', message: expect.stringContaining('127.0.0.1:1') as string })
  expect(failed instanceof Error ? failed.message : '').not.toContain('secret')
  await nowhere.close()
})

test('a backend that hangs past the client’s deadline is given up, and the next statement has a new connection', async () => {
  const slow = stage.another({ deadlineMs: 200, statementTimeoutMs: 60_000 })
  await expect(slow.query('select pg_sleep(30)')).rejects.toMatchObject({ code: 'LEDGER_UNREACHABLE' })
  expect(await slow.query('select 1 as one', [], { retryForMs: 20_000 })).toEqual([{ one: 1 }])
  expect((await itemNow(stage, await finishing())).status).toBe('done')
})

async function finishing() {
  const by = await claim(stage, await runOf(stage, 1), 1)
  await finishOne(stage, by)
  return by
}
