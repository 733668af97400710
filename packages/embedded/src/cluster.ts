/**
 * Makes the cluster once: initdb into a draft folder, shown by one rename together with its password. A start that
 * is killed half-way leaves a draft and no cluster; a cluster that looks damaged is refused, never made anew.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PawlError } from '@pawl/core'
import type { Binaries } from './binaries.ts'
import { rememberMove, type Log, type Place } from './place.ts'

/** Not named like the schema `pawl`: a user's unqualified `create table` would land in it. */
export const SUPERUSER = 'postgres'

/** Call under the start lock. */
export async function ensureCluster(place: Place, binaries: Binaries, log: Log): Promise<void> {
  if (existsSync(place.cluster)) return checkCluster(place, binaries)
  for (const name of readdirSync(place.root)) {
    if (name.startsWith('init-')) rmSync(join(place.root, name), { recursive: true, force: true, maxRetries: 3 })
  }
  log(`creating a Postgres ${binaries.major} database in ${place.root}`)
  const draft = join(place.root, `init-${randomBytes(6).toString('hex')}`)
  mkdirSync(draft)
  chmodSync(draft, place.account === undefined ? 0o700 : 0o711)
  await initialise(place, binaries, draft)
  renameSync(draft, place.cluster)
  syncFolder(place.root)
  rememberMove(place)
}

export function readPassword(place: Place): string {
  return readFileSync(place.password, 'utf8').trim()
}

function checkCluster(place: Place, binaries: Binaries): void {
  const versionFile = join(place.data, 'PG_VERSION')
  if (!existsSync(versionFile) || !existsSync(place.password)) {
    throw new PawlError(
      'EMBEDDED_DAMAGED',
      `${place.cluster} holds something that is not a whole database (PG_VERSION or the password file is missing). Restore it from a backup, or move the folder away to begin with an empty ledger.`,
      'tell',
      { folder: place.asked },
    )
  }
  const found = readFileSync(versionFile, 'utf8').trim()
  if (found !== binaries.major) {
    throw new PawlError(
      'EMBEDDED_VERSION',
      `${place.cluster} was made by Postgres ${found} and this release brings Postgres ${binaries.major}. Use the release that made it, or move the folder away to begin with an empty ledger.`,
      'tell',
      { folder: place.asked, found, brought: binaries.major },
    )
  }
}

async function initialise(place: Place, binaries: Binaries, draft: string): Promise<void> {
  const password = randomBytes(24).toString('base64url')
  const data = join(draft, 'data')
  const handed = join(draft, 'handed')
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(handed, password, { mode: 0o600 })
  if (place.account !== undefined) for (const path of [data, handed]) chownSync(path, place.account.uid, place.account.gid)
  const options = ['-D', data, `--username=${SUPERUSER}`, `--pwfile=${handed}`, '--auth=scram-sha-256', '--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C', '--no-instructions']
  try {
    await promisify(execFile)(binaries.initdb, options, { cwd: '/', env: binaries.env, ...place.account })
  } catch (cause) {
    const words = ((cause as { stderr?: string }).stderr ?? '').trim().split('\n').slice(-3).join(' ')
    throw new PawlError('EMBEDDED_INIT_FAILED', `Postgres could not create a database in ${place.root}: ${words || String(cause)} Check the free space and the folder's rights, or set DATABASE_URL.`, 'tell', { folder: place.asked }, { cause })
  }
  rmSync(handed)
  const file = openSync(join(draft, 'password'), 'wx', 0o600)
  writeFileSync(file, `${password}\n`)
  fsyncSync(file)
  closeSync(file)
  syncFolder(draft)
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  fsyncSync(folder)
  closeSync(folder)
}
