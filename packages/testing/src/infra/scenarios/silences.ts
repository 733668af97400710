/**
 * Connections that stay open and say nothing: half-open both ways and one way, and a black hole for new ones too. After each the held bytes arrive
 * late, or are lost with a reset.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { FaultProxy } from '../../fault-proxy.ts'
import type { Ground } from '../ground.ts'
import { playAct, type Scenario } from '../scenario.ts'
import type { Scene } from '../scene.ts'

const silences: readonly (readonly [string, (door: FaultProxy) => void])[] = [
  ['half-open both ways', (door) => { door.halfOpen() }], ['deaf answers', (door) => { door.halfOpen('fromServer') }], ['deaf requests', (door) => { door.halfOpen('toServer') }],
  ['black hole', (door) => { door.blackHole() }], ['slow', (door) => { door.latency(150) }],
]

async function fallSilent(scene: Scene, ground: Ground, door: FaultProxy): Promise<Record<string, number>> {
  await scene.startWorkers()
  let slowest = 0
  const endings = ground.options.scale < 1 ? ['late'] : ['late', 'reset']
  for (const [name, begin] of silences) {
    for (const ending of endings) {
      await scene.topUp(ground.scaled(400, 80))
      begin(door)
      await pause(ground.scaled(20_000, 3_000))
      if (ending === 'reset') door.cut()
      door.heal()
      slowest = Math.max(slowest, await scene.resumed(`a silence (${name}, then ${ending})`))
    }
  }
  return { silences: silences.length * endings.length, slowestResumeMs: Math.round(slowest) }
}

export const postgresSilent: Scenario = (ground, queue) => playAct(ground, {
  name: 'postgres-silent', scene: { queue }, play: (scene) => fallSilent(scene, ground, ground.postgresDoor),
})

export const redisSilent: Scenario = (ground) => playAct(ground, {
  name: 'redis-silent', scene: { queue: 'redis' }, play: (scene) => fallSilent(scene, ground, ground.redisDoor),
})
