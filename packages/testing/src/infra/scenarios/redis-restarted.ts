/** Redis dies and comes back: empty at once, empty after a minute, and as it was some time ago, when jobs that are finished now were still waiting. */
import { setTimeout as pause } from 'node:timers/promises'
import { playAct, type Scenario } from '../scenario.ts'

export const redisRestartedEmpty: Scenario = (ground) => playAct(ground, {
  name: 'redis-restarted-empty', scene: { queue: 'redis' },
  async play(scene) {
    await scene.startWorkers()
    const kills = ground.scaled(5)
    let slowest = 0
    for (let i = 0; i < kills; i++) {
      await scene.topUp(ground.scaled(500, 100))
      await ground.redis.kill()
      await pause(500)
      await ground.redis.start()
      slowest = Math.max(slowest, await scene.resumed('Redis came back empty'))
    }
    return { kills, slowestResumeMs: Math.round(slowest) }
  },
})

/** Runs are accepted all the while. */
export const redisDown: Scenario = (ground) => playAct(ground, {
  name: 'redis-down', scene: { queue: 'redis' },
  async play(scene) {
    await scene.startWorkers()
    await scene.topUp(ground.scaled(500, 100))
    await ground.redis.kill()
    const downMs = ground.scaled(60_000, 4_000)
    const until = performance.now() + downMs
    let accepted = 0
    for (; performance.now() < until; accepted++) {
      await scene.beginRun()
      await pause(downMs / 6)
    }
    await ground.redis.start()
    return { downMs, accepted, resumedMs: Math.round(await scene.resumed('Redis was back after a long time')) }
  },
})

export const redisRewound: Scenario = (ground) => playAct(ground, {
  name: 'redis-rewound', scene: { queue: 'redis' },
  async play(scene) {
    await scene.startWorkers()
    const rewinds = ground.scaled(3)
    let redelivered = 0
    for (let i = 0; i < rewinds; i++) {
      await scene.topUp(ground.scaled(500, 200))
      const { waiting } = await scene.jobs()
      const snapshot = await ground.redis.save()
      const before = await scene.live()
      for (const until = Date.now() + 120_000; (await scene.live()) > before / 3;) {
        if (Date.now() > until) throw new Error('the items did not get done')
        await pause(100)
      }
      await ground.redis.kill()
      await ground.redis.start(snapshot)
      redelivered += waiting
      await scene.resumed('Redis came back as it was earlier')
    }
    if (redelivered === 0) scene.problems.push('nothing proved: no job was waiting in the snapshot')
    return { rewinds, jobsInSnapshots: redelivered }
  },
})
