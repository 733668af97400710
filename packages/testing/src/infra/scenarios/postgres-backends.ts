/** Server processes of Postgres are ended at random, many a second; and the server has no connection left to give. */
import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import { playAct, type Scenario } from '../scenario.ts'

/** Those of the workers and of the queue, not the scenario's own. */
const victims = `datname = current_database() and backend_type = 'client backend' and application_name not like 'infra side%' and pid <> pg_backend_pid()`

export const postgresBackendsKilled: Scenario = (ground, queue) => playAct(ground, {
  name: 'postgres-backends-killed', scene: { queue },
  async play(scene) {
    await scene.startWorkers()
    let killed = 0
    const until = performance.now() + ground.scaled(60_000, 4_000)
    while (performance.now() < until) {
      await scene.topUp(ground.scaled(300, 60))
      const rows = await scene.side.query<{ gone: boolean }>(`select pg_terminate_backend(pid) as gone from (select pid from pg_stat_activity where ${victims} order by state = 'active' desc nulls last, random() limit 2) x`)
      killed += rows.length
      await pause(120)
    }
    if (killed === 0) scene.problems.push('nothing proved: no backend was killed')
    return { killed, resumedMs: Math.round(await scene.resumed('the killing ended')) }
  },
})

export const postgresFull: Scenario = (ground, queue) => playAct(ground, {
  name: 'postgres-full', scene: { queue },
  async play(scene) {
    await scene.startWorkers()
    await scene.topUp(ground.scaled(500, 100))
    const hog = postgres(ground.postgres.url, { max: 250, fetch_types: false, onnotice: () => {}, backoff: () => 0.05, connect_timeout: 5 })
    const [limit] = await scene.side.query<{ n: number }>(`select current_setting('max_connections')::integer as n`)
    const sitting = Array.from({ length: (limit?.n ?? 200) + 20 }, () => hog`select pg_sleep(600)`.catch(() => undefined))
    let least = Number.POSITIVE_INFINITY
    const until = performance.now() + ground.scaled(30_000, 4_000)
    while (performance.now() < until) {
      // Whoever wants a new connection meets a full server.
      await scene.side.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${victims}`)
      await pause(500)
      const [row] = await scene.side.query<{ n: number }>(`select count(*)::integer as n from pg_stat_activity where ${victims}`)
      least = Math.min(least, row?.n ?? 0)
    }
    await hog.end({ timeout: 0 }).catch(() => undefined)
    await scene.side.query(`select pg_terminate_backend(pid) from pg_stat_activity where query like 'select pg_sleep(600)%' and pid <> pg_backend_pid()`)
    await Promise.all(sitting)
    if (least > 0) scene.problems.push('nothing proved: the workers always got connections')
    return { leastConnections: least, resumedMs: Math.round(await scene.resumed('Postgres had connections again')) }
  },
})
