/** Every item returns megabytes: the ledger keeps them, the queue's store never sees them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OwnRedis } from '../../infra/own-redis.ts'
import { onGround, seeds } from '../case-ground.ts'
import type { CaseOutcome, CaseServices } from '../literal-case.ts'

const mebibyte = 1_048_576

export async function case38(services: CaseServices, { items, resultBytes, mostGrowthBytes }: { items: number; resultBytes: number; mostGrowthBytes: number }): Promise<CaseOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-case-38-'))
  const redis = await OwnRedis.start(folder)
  const usedBytes = async (): Promise<number> => Number(/used_memory:(\d+)/.exec(String(await redis.run('INFO', 'memory')))?.[1])
  try {
    return await onGround(services, { redisUrl: redis.url, concurrency: 4, windows: { timeoutMs: 30_000 } }, async (ground, found) => {
      const answer = JSON.stringify({ ref: 'x'.repeat(resultBytes) })
      for (let n = 0; n < items; n++) ground.effects.program(`large ${n}`, [{ answer }])
      const before = await usedBytes()
      let most = before
      const watching = setInterval(() => void usedBytes().then((now) => { most = Math.max(most, now) }, () => {}), 100)
      const runId = await ground.start({ run: async ({ payload, tools }) => ({ result: (await tools.opaque({ subject: `large ${String(payload)}` })).ref }) }, { items: seeds(items) })
      await ground.runIs(runId, ['completed', 'failed'], 600_000)
      clearInterval(watching)
      found.is('run', (await ground.client.getRun(runId)).status, 'completed')
      found.atMost('bytes by which Redis grew', most - before, mostGrowthBytes)
      found.figure('MiB by which Redis grew', Math.round((most - before) / mebibyte))
      let readable = 0
      for (let n = 1; n <= items; n++) {
        const { result } = await ground.client.getItem(runId, n)
        if (typeof result === 'string' && result.length === resultBytes) readable++
      }
      found.is('results that can be read', readable, items)
      found.is('receipts', ground.effects.receipts({ op: 'do' }).length, items)
    })
  } finally {
    await redis.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}
