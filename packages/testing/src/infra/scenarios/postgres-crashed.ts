/** Postgres crashes under live items, with its children or without a word to them, and comes back after a moment. */
import { playAct, rest, type Scenario } from '../scenario.ts'

export const postgresCrashed: Scenario = (ground, queue) => playAct(ground, {
  name: 'postgres-crashed', scene: { queue },
  async play(scene) {
    await scene.startWorkers()
    const crashes = ground.scaled(20)
    for (let i = 0; i < crashes; i++) {
      await scene.topUp(ground.scaled(300, 60))
      await rest(ground, 600, 'crash', i)
      await ground.crashPostgres(i % 2 === 0 ? 'SIGQUIT' : 'SIGKILL', 1_500 * ground.chance.draw('down', i))
    }
    return { crashes, resumedMs: Math.round(await scene.resumed('Postgres was back')) }
  },
})
