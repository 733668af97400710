import { auditLedger, oracleInvariants, type Ledger } from '@pawl/ledger'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claim, committed, completionOf, finishOne, flushOne, intentOf, openStage, runOf, actionNow, type Stage } from '../../ledger/src/stage.testsuite.ts'
import { startCompensation } from '@pawl/ledger'
import { audit, type EffectLogEntry } from './audit.ts'

let stage: Stage
let ledger: Ledger
beforeAll(async () => {
  stage = await openStage()
  ledger = stage.ledger
})
afterAll(async () => { await stage.close() })

/** A run whose two writes were received once each, the second after a refused send; and the receivers' log of it. */
async function watchedRun(): Promise<{ runId: string; log: EffectLogEntry[]; keys: [string, string] }> {
  const runId = await runOf(stage, 1)
  const by = await claim(stage, runId, 1)
  const keys: [string, string] = [`${runId}-a`, `${runId}-b`]
  for (const key of keys) await committed(stage, by, key, { argsDigest: `digest-${key}` })
  await finishOne(stage, by)
  await stage.rows(`update pawl.actions set started_at = started_at - interval '1 s' where run_id = $1`, [runId])
  return { runId, keys, log: keys.map((key) => ({ key, tool: 'sendMail', argsDigest: `digest-${key}`, applied: true, at: new Date() })) }
}

const named = async (runId: string, effects: EffectLogEntry[]): Promise<string[]> => (await audit(ledger, { runId, effects })).violations.map((found) => found.name)

test('without a log the oracle’s invariants are counted as not checked; with one everything is checked and a healthy run has no violation', async () => {
  const { runId, log } = await watchedRun()
  const alone = await auditLedger(ledger, { runId })
  expect(await audit(ledger, { runId })).toEqual(alone)
  expect(alone.needingOracle).toBe(oracleInvariants.length)
  expect(await audit(ledger, { runId, effects: log })).toEqual({ checked: alone.checked + oracleInvariants.length, needingOracle: 0, violations: [] })
})

test('the audit names an effect without intent, and one that came before its intent', async () => {
  const { runId, log } = await watchedRun()
  expect(await named(runId, [...log, { key: 'nobody', tool: 'sendMail', applied: true, at: new Date() }])).toEqual(['effect-has-intent'])
  expect(await named(runId, [{ ...log[0]!, at: new Date(Date.now() - 60_000) }, log[1]!])).toEqual(['effect-has-intent'])
})

test('a receipt of an earlier send is not held against the time of a later intent under its key', async () => {
  const { runId, log } = await watchedRun()
  await stage.rows(`update pawl.actions set sends = 2, attempt = 2, refused = 1, started_at = clock_timestamp() + interval '1 s' where run_id = $1`, [runId])
  expect(await named(runId, log.map((entry) => ({ ...entry, attempt: 1 })))).toEqual([])
  expect(await named(runId, log.map((entry) => ({ ...entry, attempt: 2 })))).toEqual(['effect-has-intent'])
})

test('the audit names a committed write nobody applied, of the watched tools only', async () => {
  const { runId, log, keys } = await watchedRun()
  expect(await named(runId, log.slice(0, 1))).toEqual(['committed-was-applied'])
  expect(await named(runId, [log[0]!, { ...log[1]!, applied: false }])).toEqual(['committed-was-applied'])
  const none = await audit(ledger, { runId, effects: [], tools: ['sendMail'] })
  expect(none.violations.map((found) => [found.name, found.rows.map((row) => String(row['key'])).toSorted()])).toEqual([['committed-was-applied', keys.toSorted()]])
  expect((await audit(ledger, { runId, effects: [], tools: ['other'] })).violations).toEqual([])
})

test('the audit names an effect applied twice under one key, and a second receipt that no refusal allows', async () => {
  const { runId, log } = await watchedRun()
  expect(await named(runId, [...log, log[0]!])).toEqual(['applied-once', 'sent-once'])
  expect(await named(runId, [...log, { ...log[0]!, applied: false }])).toEqual(['sent-once'])
  await stage.rows('update pawl.actions set sends = 2, attempt = 2, refused = 1 where run_id = $1', [runId])
  expect(await named(runId, [...log, { ...log[0]!, applied: false }])).toEqual([])
})

test('the audit names a receipt with other args than its intent', async () => {
  const { runId, log } = await watchedRun()
  expect(await named(runId, [{ ...log[0]!, argsDigest: 'other' }, log[1]!])).toEqual(['one-digest'])
})

test('the audit names a write applied after its undo, and a forward send after its run was stopped', async () => {
  const { runId, log, keys } = await watchedRun()
  await startCompensation(ledger, runId, 'ann', null)
  const by = await claim(stage, runId, await stage.value<number>(`select seq from pawl.items where run_id = $1 and kind = 'compensate'`, [runId]))
  const undo = intentOf(`undo:${keys[0]}`, { undoes: (await actionNow(stage, runId, keys[0])).id, tool: 'unsend' })
  await flushOne(ledger, by, { intents: [undo] })
  await flushOne(ledger, by, { completions: [completionOf(undo)] })
  const undone: EffectLogEntry = { key: undo.key, tool: 'unsend', applied: true, at: new Date() }
  expect(await named(runId, [...log, undone])).toEqual([])
  expect(await named(runId, [{ ...log[0]!, at: new Date(Date.now() + 1_000) }, log[1]!, undone])).toEqual(['no-effect-after-undo'])
  expect(await named(runId, [log[0]!, { ...log[1]!, at: new Date(Date.now() + 60_000) }, undone])).toEqual(['no-send-after-stop'])
})
