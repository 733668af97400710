/** A Postgres of the tier's own, a Redis where it is asked for, and an empty database for each thing that is played. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '@pawl/embedded'
import { Ledger } from '@pawl/ledger'
import { startOwnRedis } from './own-redis.ts'
import type { QueuePlace } from './stage.ts'

export interface Ground {
  /** The URL of a new and empty database. */
  database(name: string): Promise<string>
  queueOf(backend: QueuePlace['backend'], databaseUrl: string): QueuePlace
}

export async function onGround<T>(wantsRedis: boolean, play: (ground: Ground) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-chaos-'))
  // Postgres runs as another user where we are root, and has to pass through.
  chmodSync(folder, 0o711)
  const redis = wantsRedis ? await startOwnRedis() : undefined
  const postgres = await startEmbedded({ folder: join(folder, 'postgres') })
  const admin = new Ledger({ url: postgres.url, connections: 1 })
  try {
    // Processes are killed in this tier, the machine is not: what a commit costs on disk proves nothing here.
    await admin.query('alter system set fsync = off')
    await admin.query('select pg_reload_conf()')
    return await play({
      async database(name) {
        await admin.query(`create database ${name}`)
        const url = new URL(postgres.url)
        url.pathname = `/${name}`
        return url.href
      },
      queueOf: (backend, databaseUrl) => ({ backend, url: backend === 'redis' ? (redis?.url ?? '') : databaseUrl }),
    })
  } finally {
    await admin.close()
    await postgres.release()
    await redis?.close()
    for (const path of [postgres.folder, folder]) rmSync(path, { recursive: true, force: true })
  }
}
