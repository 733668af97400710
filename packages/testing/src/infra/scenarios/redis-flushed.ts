/** Somebody empties the Redis that holds the queue, again and again, every other time its scripts too. */
import { playAct, rest, type Scenario } from '../scenario.ts'

export const redisFlushed: Scenario = (ground) => playAct(ground, {
  name: 'redis-flushed', scene: { queue: 'redis' },
  async play(scene) {
    await scene.startWorkers()
    const flushes = ground.scaled(20, 2)
    for (let i = 0; i < flushes; i++) {
      await scene.topUp(ground.scaled(500, 100))
      await ground.flushRedis()
      if (i % 2 === 1) await ground.redis.run('SCRIPT', 'FLUSH')
      await rest(ground, 1_500, 'flush', i)
    }
    return { flushes, resumedMs: Math.round(await scene.resumed('the last FLUSHALL')) }
  },
})
