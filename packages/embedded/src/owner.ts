/**
 * Who owns a running server: the session that holds one advisory lock, on a connection used for nothing else. A
 * killed owner's session ends with it, so the proof cannot outlive the owner, as a file could. The session names its
 * pid, so that a refusal can say whom to ask.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { PawlError } from '@pawl/core'
import { Client } from 'pg'
import { readPassword, SUPERUSER } from './cluster.ts'
import { readPort } from './pid-file.ts'
import type { Log, Place } from './place.ts'

export interface Owner {
  /** The server is about to be stopped: do not try to win the session back. */
  expectEnd(): void
  /** Ends the session, and with it the ownership. The server runs on. */
  end(): Promise<void>
}

export type Claim =
  | { readonly kind: 'owned'; readonly owner: Owner; readonly url: string }
  | { readonly kind: 'held'; readonly pid: number | undefined }
  /** Not (yet, or any more) answering: starting, stopping, or something else on its port. */
  | { readonly kind: 'silent'; readonly reason: string }

const LOCK = 'pawl embedded owner'
const DATABASE = 'pawl'
const REGAIN_MS = 30_000

export async function claimServer(place: Place, port: number | undefined, log: Log): Promise<Claim> {
  if (port === undefined) return { kind: 'silent', reason: 'its port is not known yet' }
  const client = new Client({ host: '127.0.0.1', port, user: SUPERUSER, password: readPassword(place), database: 'postgres', application_name: `pawl owner ${process.pid}`, connectionTimeoutMillis: 5_000, query_timeout: 10_000, keepAlive: true })
  let isEnding = false
  client.on('error', () => undefined) // the end follows
  try {
    await client.connect()
    const { rows } = await client.query<{ folder: string; taken: boolean }>(`select current_setting('data_directory') as folder, pg_try_advisory_lock(hashtextextended($1, 0)) as taken`, [LOCK])
    if (rows[0]?.folder !== place.data) throw new Error(`port ${port} belongs to the Postgres of another folder`)
    if (rows[0].taken !== true) {
      const pid = await readOwnerPid(client)
      await client.end()
      return { kind: 'held', pid }
    }
    await ensureDatabase(client)
  } catch (error) {
    await client.end().catch(() => undefined)
    if ((error as { code?: unknown }).code === '28P01') throw wrongPassword(place, port)
    return { kind: 'silent', reason: error instanceof Error ? error.message : String(error) }
  }
  let endCurrent = async (): Promise<void> => client.end().catch(() => undefined)
  client.once('end', () => {
    if (isEnding) return
    void regain(place, log, () => isEnding).then((regained) => {
      if (regained !== undefined) endCurrent = async () => regained.end()
    })
  })
  const url = `postgres://${SUPERUSER}:${readPassword(place)}@127.0.0.1:${port}/${DATABASE}`
  return {
    kind: 'owned',
    url,
    owner: {
      expectEnd: () => void (isEnding = true),
      end: async () => {
        isEnding = true
        await endCurrent()
      },
    },
  }
}

/** A crash of one backend ends all sessions for a moment, ours too. */
async function regain(place: Place, log: Log, isEnding: () => boolean): Promise<Owner | undefined> {
  const deadline = Date.now() + REGAIN_MS
  while (!isEnding() && Date.now() < deadline) {
    const claim = await claimServer(place, readPort(place), log)
    if (claim.kind === 'owned') {
      if (isEnding()) await claim.owner.end()
      return claim.owner
    }
    if (claim.kind === 'held') {
      log(`the Postgres of ${place.asked} has another owner now: pid ${claim.pid ?? 'unknown'}`)
      return undefined
    }
    await sleep(100, undefined, { ref: false })
  }
  return undefined
}

function wrongPassword(place: Place, port: number): PawlError {
  return new PawlError(
    'EMBEDDED_PASSWORD',
    `The Postgres on port ${port} refuses the password kept in ${place.password}. Restore that file as it was when the database was made, or set DATABASE_URL.`,
    'tell',
    { folder: place.asked, port },
  )
}

async function readOwnerPid(client: Client): Promise<number | undefined> {
  const { rows } = await client.query<{ name: string }>(
    `select a.application_name as name from pg_locks l join pg_stat_activity a using (pid)
     where l.locktype = 'advisory' and l.granted and l.objsubid = 1
       and (l.classid::bigint << 32) | l.objid::bigint = hashtextextended($1, 0)`,
    [LOCK],
  )
  const found = /^pawl owner (\d+)$/.exec(rows[0]?.name ?? '')
  return found === null ? undefined : Number(found[1])
}

async function ensureDatabase(client: Client): Promise<void> {
  const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [DATABASE])
  if (rowCount === 0) await client.query(`create database ${DATABASE}`)
}
