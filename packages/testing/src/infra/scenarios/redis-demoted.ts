/**
 * Case 102: the primary becomes a replica under load, another is promoted, and the name moves; connections stay with the demoted one, which refuses
 * every write until they are made anew. Then back the same way.
 */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { OwnRedis } from '../own-redis.ts'
import { playAct, type Scenario } from '../scenario.ts'

async function synced(replica: OwnRedis): Promise<void> {
  for (const until = Date.now() + 30_000; !String(await replica.run('INFO', 'replication')).includes('master_link_status:up');) {
    if (Date.now() > until) throw new Error('the replica did not come into step')
    await pause(50)
  }
}

async function moveTo(from: OwnRedis, to: OwnRedis): Promise<void> {
  await to.run('REPLICAOF', '127.0.0.1', String(from.port))
  await synced(to)
}

export const redisDemoted: Scenario = (ground) => playAct(ground, {
  name: 'redis-demoted', scene: { queue: 'redis' },
  async play(scene) {
    await scene.startWorkers()
    const other = await OwnRedis.start(join(ground.folder, 'other-redis'))
    let slowest = 0
    const pairs = [[ground.redis, other], [other, ground.redis]] as const
    try {
      for (const [from, to] of pairs) {
        await moveTo(from, to)
        await scene.topUp(ground.scaled(500, 100))
        await to.run('REPLICAOF', 'NO', 'ONE')
        await from.run('REPLICAOF', '127.0.0.1', String(to.port))
        // The name still leads to the demoted one.
        await pause(ground.scaled(10_000, 2_000))
        ground.redisDoor.retarget(to.url)
        slowest = Math.max(slowest, await scene.resumed('another Redis was promoted'))
      }
      await ground.redis.run('REPLICAOF', 'NO', 'ONE')
    } finally {
      await other.close()
    }
    return { failovers: pairs.length, slowestResumeMs: Math.round(slowest) }
  },
})
