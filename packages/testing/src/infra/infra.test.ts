/** The infra tier's short pass; the whole of it is `npm run chaos -- --tier infra`. */
import { appendFileSync } from 'node:fs'
import { describe, expect, inject, test } from 'vitest'
import { findRedisBinary } from '../../../../tests/setup/redis-server.ts'
import { infraTier } from './infra-tier.ts'

const name = 'Redis and Postgres killed under live items'
const hasRedis = findRedisBinary() !== null
if (!hasRedis) appendFileSync(inject('notRunFile'), `${name}\n`)

describe.skipIf(!hasRedis)(name, () => {
  test('after a FLUSHALL, an empty restart of Redis and a crash of Postgres every worker goes on, nothing is lost and nothing doubled', async () => {
    const report = await infraTier({ seed: 1, scale: 0.05, only: ['shortPass'], say: () => {} })
    expect(report.problems).toEqual([])
    expect(report).toMatchObject({ ok: true, totals: { duplicates: 0, lost: 0, violations: 0 }, redisFlushes: 1, postgresCrashes: 1 })
    expect(report.totals.effects).toBeGreaterThan(50)
  }, 240_000)
})
