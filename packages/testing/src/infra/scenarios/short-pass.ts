/** One of each that every worker has to live through: Redis emptied, Redis dead and back empty, Postgres crashed. Small enough for every test run. */
import { playAct, type Scenario } from '../scenario.ts'

export const shortPass: Scenario = (ground) => playAct(ground, {
  name: 'short-pass', scene: { queue: 'redis', load: { itemsPerRun: 30, paceMs: 150 } },
  async play(scene) {
    await scene.startWorkers(2)
    await scene.topUp(60)
    await ground.flushRedis()
    const flushed = await scene.resumed('FLUSHALL')
    await ground.redis.kill()
    await ground.redis.start()
    const restarted = await scene.resumed('Redis came back empty')
    await ground.crashPostgres('SIGKILL', 0)
    const crashed = await scene.resumed('Postgres was back')
    return { flushed, restarted, crashed }
  },
})
