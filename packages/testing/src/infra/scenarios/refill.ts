/** 10,000 due items of 10 runs are on the queue and Redis is emptied: how long until all are back, by the usual timings. Then they are all done. */
import { setTimeout as pause } from 'node:timers/promises'
import { defaultTimings } from '@pawl/harness'
import { playAct, type Scenario } from '../scenario.ts'
import type { Scene } from '../scene.ts'

export const refillRuns = 10
export const targetSeconds = 30

async function waitForJobs(scene: Scene, count: number, deadlineMs: number): Promise<number> {
  const from = performance.now()
  while ((await scene.jobs()).waiting < count) {
    if (performance.now() - from > deadlineMs) return Number.POSITIVE_INFINITY
    await pause(50)
  }
  return (performance.now() - from) / 1_000
}

export const refill: Scenario = (ground) => {
  const itemsPerRun = ground.scaled(1_000, 100)
  const items = itemsPerRun * refillRuns
  return playAct(ground, {
    name: 'refill', scene: { queue: 'redis', load: { itemsPerRun, callsPerItem: 1, paceMs: 0, tools: ['keyed'] }, timings: defaultTimings },
    async play(scene) {
      await scene.startWorkers(1, 'splits')
      await scene.topUp(items)
      if (!Number.isFinite(await waitForJobs(scene, items, 120_000))) throw new Error('the items never were on the queue')
      ground.options.say(`refill: ${items} items are on the queue`)
      await ground.flushRedis()
      const seconds = await waitForJobs(scene, items, 120_000)
      if (seconds > targetSeconds) scene.problems.push(`${items} items of ${refillRuns} runs were back on the queue after ${seconds} s; the target is ${targetSeconds} s`)
      ground.options.say(`refill: back after ${seconds} s`)
      await scene.startWorkers()
      return { items, runs: refillRuns, refillSeconds: Math.round(seconds * 100) / 100 }
    },
  })
}
