import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { printSchema } from './print-schema.ts'
import { openStage, type Stage } from './stage.testsuite.ts'

let stage: Stage
beforeAll(async () => { stage = await openStage() })
afterAll(async () => { await stage.close() })

const file = new URL('../schema.sql', import.meta.url)

test('schema.sql is what the catalogs of an empty migrated database say', async () => {
  const printed = await printSchema(stage.ledger)
  if (process.env['PAWL_PRINT_SCHEMA'] === '1') writeFileSync(file, printed)
  expect(printed).toBe(readFileSync(file, 'utf8'))
})

test('a change of any kind shows in it', async () => {
  const before = await printSchema(stage.ledger)
  for (const change of [
    'alter table pawl.items add column extra integer', 'alter table pawl.runs alter column input drop not null', `alter table pawl.runs alter column next_seq set default 5`,
    'drop index pawl.items_one_finalizer', 'drop trigger keep_ended_items on pawl.items', 'drop function pawl.timeline_now cascade', 'create sequence pawl.another',
    'alter table pawl.ledger drop constraint ledger_is_one',
  ]) {
    await stage.rows(change)
    const after = await printSchema(stage.ledger)
    expect(after, change).not.toBe(before)
  }
})

test('every verb is volatile: only then has each statement inside its own snapshot', async () => {
  expect(await stage.value(`select string_agg(proname, ',') from pg_proc where pronamespace = 'pawl'::regnamespace and provolatile <> 'v'`)).toBeNull()
})
