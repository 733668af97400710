/**
 * Where a server's things lie, and as whom it runs.
 *
 * Postgres refuses to run as root, so root hands it to the uid of `postgres` or `nobody`; such a uid cannot pass
 * through a 0700 parent such as /root, and then the data moves below the system's temporary folder. The move is
 * written down in `moved-to`, so that a later start can never begin an empty ledger beside the moved one.
 * A cluster that exists decides its own account: the owner of its files.
 */
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { PawlError } from '@pawl/core'

export interface Account {
  readonly uid: number
  readonly gid: number
}

export interface Place {
  /** What the caller named. */
  readonly asked: string
  /** Where it really is: the same, or the fallback. */
  readonly root: string
  /** Cluster and password appear together, by one rename. */
  readonly cluster: string
  readonly data: string
  readonly password: string
  readonly port: string
  readonly log: string
  /** In the command line of every process of this server: its `cluster_name`. */
  readonly tag: string
  /** Whom the server runs as; undefined: as we do. */
  readonly account: Account | undefined
}

export type Log = (line: string) => void

export function resolvePlace(folder: string, log: Log): Place {
  if (process.platform === 'win32') {
    throw new PawlError('EMBEDDED_PLATFORM', 'The embedded Postgres does not run on Windows itself; use WSL, or set DATABASE_URL to a Postgres you have.')
  }
  const asked = resolve(folder)
  const root = chooseRoot(asked, log)
  makeFolder(root)
  refuseForeign(root)
  // The account needs to pass through to its data and nothing else; every file here is 0600.
  if (isRoot()) chmodSync(root, 0o711)
  const real = realpathSync(root)
  const data = join(real, 'pg', 'data')
  return {
    asked,
    root: real,
    cluster: join(real, 'pg'),
    data,
    password: join(real, 'pg', 'password'),
    port: join(real, 'port'),
    log: join(real, 'server.log'),
    tag: `pawl-${createHash('sha256').update(data).digest('hex').slice(0, 16)}`,
    account: chooseAccount(data),
  }
}

/** Has a database ever been made for this folder? Creates nothing. */
export function hasPlace(folder: string): boolean {
  return ['pg', 'moved-to'].some((name) => existsSync(join(resolve(folder), name)))
}

/** After the first initdb below a fallback: from now on the folder answers with the moved data, or not at all. */
export function rememberMove(place: Place): void {
  if (dirname(place.cluster) === tryRealpath(place.asked)) return
  makeFolder(place.asked)
  writeFileSync(join(place.asked, 'moved-to'), `${place.root}\n`, { mode: 0o600 })
}

/** Can this account pass through every folder above and including `path`? Judged by the mode bits. */
export function canReach(path: string, account: Account): boolean {
  for (let at = nearestExisting(path); ; at = dirname(at)) {
    const { mode, uid, gid } = statSync(at)
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001
    if ((mode & bit) === 0) return false
    if (dirname(at) === at) return true
  }
}

function chooseRoot(asked: string, log: Log): string {
  const moved = join(asked, 'moved-to')
  if (existsSync(moved)) {
    const target = readFileSync(moved, 'utf8').trim()
    if (existsSync(join(target, 'pg'))) return target
    throw new PawlError(
      'EMBEDDED_DATA_GONE',
      `The data of ${asked} was kept in ${target} and is no longer there. Put it back, or delete ${moved} to begin with an empty ledger.`,
      'tell',
      { folder: asked, target },
    )
  }
  const account = chooseAccount(join(asked, 'pg', 'data'))
  if (account === undefined) return asked
  const parent = existsSync(asked) ? dirname(realpathSync(asked)) : dirname(asked)
  if (canReach(parent, account)) return asked
  if (existsSync(join(asked, 'pg'))) {
    throw new PawlError(
      'EMBEDDED_UNREACHABLE_FOLDER',
      `Postgres cannot run as root, and its account (uid ${account.uid}) cannot pass through the folders above ${asked}. Move the folder, or open those folders with chmod o+x.`,
      'tell',
      { folder: asked, uid: account.uid },
    )
  }
  const fallback = join(tmpdir(), `pawl-${createHash('sha256').update(asked).digest('hex').slice(0, 16)}`)
  log(`Postgres cannot run as root, and uid ${account.uid} cannot reach ${asked}: its data is kept in ${fallback}`)
  return fallback
}

function chooseAccount(data: string): Account | undefined {
  if (!isRoot()) return undefined
  if (existsSync(data)) {
    const { uid, gid } = statSync(data)
    if (uid !== 0) return { uid, gid }
  }
  const accounts = readFileSync('/etc/passwd', 'utf8').split('\n').map((line) => line.split(':'))
  for (const name of ['postgres', 'nobody']) {
    const found = accounts.find((fields) => fields[0] === name)
    if (found !== undefined) return { uid: Number(found[2]), gid: Number(found[3]) }
  }
  return { uid: 65_534, gid: 65_534 }
}

/** Files of two users in one folder lock one of them out; and a fallback has a guessable name where anybody may write. */
function refuseForeign(root: string): void {
  const { uid } = lstatSync(realpathSync(root))
  const ourselves = process.getuid?.() ?? uid
  if (uid === ourselves) return
  throw new PawlError(
    'EMBEDDED_FOREIGN_FOLDER',
    `${root} belongs to uid ${uid} and this process is uid ${ourselves}. Start as the same user as before, name another folder, or set DATABASE_URL.`,
    'tell',
    { folder: root, owner: uid, uid: ourselves },
  )
}

/** Parents get the usual rights: a closed one would shut the server's account out. */
function makeFolder(path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  mkdirSync(path, { recursive: true, mode: 0o700 })
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}

function nearestExisting(path: string): string {
  let at = path
  while (!existsSync(at)) at = dirname(at)
  return realpathSync(at)
}

function tryRealpath(path: string): string | undefined {
  return existsSync(path) ? realpathSync(path) : undefined
}
