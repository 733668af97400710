/**
 * A second server for an embedded Postgres: a streaming replica that can fall behind and be promoted, or a copy of the files as they were.
 * Made with the backup functions of SQL and a copy of the folder, because the npm package brings neither pg_basebackup nor pg_dump.
 */
import { appendFileSync, chmodSync, chownSync, cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbedded, type Embedded } from '@pawl/embedded'
import postgres from 'postgres'
import { until } from '../virtual-workers.ts'

export interface Standby {
  readonly url: string
  /** Resolves when everything the primary has written is replayed here. */
  caughtUp(): Promise<void>
  /** Nothing more is received: what the primary acknowledges from now on is the tail that a promotion loses. */
  cutOff(): Promise<void>
  promote(): Promise<void>
  stop(): Promise<void>
}

/** @param folder a new folder that the server's account can reach. */
export async function startStandby(primary: Embedded, folder: string): Promise<Standby> {
  const control = postgres(primary.url, { max: 1, onnotice: () => {} })
  await control`select pg_create_physical_replication_slot('standby', true)`
  const label = await backUp(control, primary, folder)
  const data = join(folder, 'pg', 'data')
  const address = new URL(primary.url)
  ownFile(data, 'backup_label', label)
  ownFile(data, 'standby.signal', '')
  appendFileSync(join(data, 'postgresql.auto.conf'),
    `\nprimary_conninfo = 'host=127.0.0.1 port=${address.port} user=${address.username} password=${address.password}'\nprimary_slot_name = 'standby'\nwal_retrieve_retry_interval = 100\n`)
  const server = await startEmbedded({ folder })
  const standby = postgres(server.url, { max: 1, onnotice: () => {} })
  return {
    url: server.url,
    async caughtUp() {
      const [now] = await control<{ lsn: string }[]>`select pg_current_wal_flush_lsn()::text as lsn`
      await until('the standby has replayed it', async () => {
        const [row] = await standby<{ there: boolean }[]>`select pg_last_wal_replay_lsn() >= ${now?.lsn ?? ''}::pg_lsn as there`
        return row?.there === true
      })
    },
    async cutOff() {
      await standby.unsafe(`alter system set primary_conninfo = ''`)
      await standby`select pg_reload_conf()`
      await until('nothing is received any more', async () => (await standby`select 1 from pg_stat_wal_receiver`).length === 0)
    },
    async promote() {
      await standby`select pg_promote(true, 30)`
      await until('it takes writes', async () => (await standby<{ yes: boolean }[]>`select not pg_is_in_recovery() as yes`)[0]?.yes === true)
    },
    async stop() {
      await Promise.all([control.end({ timeout: 0 }).catch(() => {}), standby.end({ timeout: 0 }).catch(() => {})])
      await server.release()
      for (const path of [server.folder, folder]) rmSync(path, { recursive: true, force: true })
    },
  }
}

/** Copies a running server's files the way `pg_basebackup` does. Returns the backup's label. */
async function backUp(control: postgres.Sql, primary: Embedded, folder: string): Promise<string> {
  await control`select pg_backup_start('copy', true)`
  // The write-ahead log comes by the stream; here its files would change names under the copy.
  copyServer(primary.folder, folder, (path) => !/\/pg_wal\/[^/]+$/.test(path))
  const [stopped] = await control<{ labelfile: string }[]>`select labelfile from pg_backup_stop(false)`
  return stopped?.labelfile ?? ''
}

/** The files of an embedded server, without what names the process that has them open. */
export function copyServer(from: string, to: string, wanted: (path: string) => boolean = () => true): void {
  const source = join(from, 'pg')
  mkdirSync(to, { recursive: true })
  chmodSync(to, statSync(from).mode)
  cpSync(source, join(to, 'pg'), { recursive: true, verbatimSymlinks: true, filter: (path) => !/postmaster\.(pid|opts)$/.test(path) && wanted(path) })
  keepOwners(source, join(to, 'pg'))
}

/** A copy belongs to who made it; Postgres wants its own files back. */
function keepOwners(source: string, copy: string): void {
  const { uid, gid, mode } = statSync(source)
  chmodSync(copy, mode)
  chownSync(copy, uid, gid)
  if (!statSync(copy).isDirectory()) return
  for (const name of readdirSync(copy)) keepOwners(join(source, name), join(copy, name))
}

function ownFile(folder: string, name: string, content: string): void {
  const { uid, gid } = statSync(folder)
  writeFileSync(join(folder, name), content, { mode: 0o600 })
  chownSync(join(folder, name), uid, gid)
}
