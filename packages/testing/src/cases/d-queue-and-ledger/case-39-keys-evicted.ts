/** Redis evicts keys of the queue in mid-run, jobs in halves and the marker too: the run is completed from the ledger. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Chance } from '../../chaos/chance.ts'
import { OwnRedis } from '../../infra/own-redis.ts'
import { onGround, seeds, until } from '../case-ground.ts'
import type { CaseOutcome, CaseServices } from '../literal-case.ts'

export async function case39(services: CaseServices, { items, evictions }: { items: number; evictions: number }): Promise<CaseOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-case-39-'))
  const redis = await OwnRedis.start(folder)
  const chance = new Chance(services.seed)
  try {
    return await onGround(services, { redisUrl: redis.url, concurrency: 2 }, async (ground, found) => {
      let evicted = 0
      const runId = await ground.start({
        run: async ({ payload, tools }) => { await tools.opaque({ subject: `evicted ${String(payload)}` }); await tools.opaque({ subject: `evicted ${String(payload)} then` }) },
      }, { items: seeds(items) })
      for (let n = 1; n <= evictions; n++) {
        await until('more is done', () => ground.applied('evicted').length >= Math.floor(2 * items * n / (evictions + 1)))
        const keys = (await redis.run('KEYS', '*')) as string[]
        for (const key of keys) {
          if (!chance.happens(0.5, 'evicted', n, key)) continue
          await redis.run('DEL', key)
          evicted++
        }
      }
      await ground.runIs(runId, ['completed', 'failed'], 300_000)
      found.atLeast('keys evicted', evicted, evictions)
      found.is('run', (await ground.client.getRun(runId)).status, 'completed')
      found.is('receipts', ground.effects.receipts({ op: 'do' }).length, 2 * items)
      found.is('ended', await ground.endings(runId), 1)
    })
  } finally {
    await redis.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}
