/** Server processes of Postgres are ended at random, many a second; and the server has no connection left to give. */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { until } from '../../virtual-workers.ts'
import { playAct, type Scenario } from '../scenario.ts'

/** Those of the workers and of the queue, not the scenario's own. */
const victims = `datname = current_database() and backend_type = 'client backend' and application_name not like 'infra side%' and pid <> pg_backend_pid()`

export const postgresBackendsKilled: Scenario = (ground, queue) => playAct(ground, {
  name: 'postgres-backends-killed', scene: { queue },
  async play(scene) {
    await scene.startWorkers()
    let killed = 0
    const end = performance.now() + ground.scaled(60_000, 4_000)
    while (performance.now() < end) {
      await scene.topUp(ground.scaled(300, 60))
      const rows = await scene.side.query<{ gone: boolean }>(`select pg_terminate_backend(pid) as gone from (select pid from pg_stat_activity where ${victims} order by state = 'active' desc nulls last, random() limit 2) x`)
      killed += rows.length
      await pause(120)
    }
    if (killed === 0) scene.problems.push('nothing proved: no backend was killed')
    return { killed, resumedMs: Math.round(await scene.resumed('the killing ended')) }
  },
})

/** Sits on a connection of the server's for as long as it is to be full, and takes another where it loses it. */
async function sit(connectionString: string, isFull: () => boolean): Promise<void> {
  while (isFull()) {
    const client = new pg.Client({ connectionString, application_name: 'hog', connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    await client.connect().then(() => client.query('select pg_sleep(600)')).catch(() => pause(50))
    await client.end().catch(() => {})
  }
}

export const postgresFull: Scenario = (ground, queue) => playAct(ground, {
  name: 'postgres-full', scene: { queue },
  async play(scene) {
    await scene.startWorkers()
    await scene.topUp(ground.scaled(500, 100))
    const [limit] = await scene.side.query<{ n: number }>(`select current_setting('max_connections')::integer as n`)
    let isFull = true
    const sitting = Array.from({ length: (limit?.n ?? 200) + 20 }, () => sit(ground.postgres.url, () => isFull))
    let least = Number.POSITIVE_INFINITY
    const end = performance.now() + ground.scaled(30_000, 4_000)
    while (performance.now() < end) {
      // Whoever wants a new connection meets a full server.
      await scene.side.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${victims}`)
      await pause(500)
      const [row] = await scene.side.query<{ n: number }>(`select count(*)::integer as n from pg_stat_activity where ${victims}`)
      least = Math.min(least, row?.n ?? 0)
    }
    isFull = false
    // One that was still being let in has not begun its query yet.
    await until('nobody sits in the server', async () => (await scene.side.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'hog'`)).length === 0)
    await Promise.all(sitting)
    if (least > 0) scene.problems.push('nothing proved: the workers always got connections')
    return { leastConnections: least, resumedMs: Math.round(await scene.resumed('Postgres had connections again')) }
  },
})
