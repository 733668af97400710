/** `pawl tools --lock` and `--check`: the committed account of how every call is named and settled, and what this code would change of it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { PawlError } from '@pawl/core'
import type { AnyAgent } from '@pawl/harness'
import { compareLocks, lockAgent, lockFileSchema, modelPinsOf, type LockChange, type LockFile } from '@pawl/tools'
import { exitOf } from '../cli/exit-codes.ts'
import type { Output } from '../cli/output.ts'
import { many, plain } from '../cli/plain.ts'

export const lockOf = (agents: readonly AnyAgent[]): LockFile => ({
  lockVersion: 1,
  agents: Object.fromEntries(agents.map((agent): [string, LockFile['agents'][string]] => [`${agent.name}@${agent.version}`, lockAgent(agent, modelPinsOf(agent)).locked]).toSorted(([a], [b]) => (a < b ? -1 : 1))),
})

function readLock(path: string): LockFile {
  if (!existsSync(path)) throw new PawlError('NO_LOCK', `There is no ${path}. Write it with "pawl tools --lock" and commit it.`)
  try {
    return lockFileSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    throw new PawlError('BAD_LOCK', `${path} is not a lock of this Pawl. Restore it from your version control, or write it anew with "pawl tools --lock" and look at the difference.`)
  }
}

const shown = (value: unknown): string => plain(typeof value === 'string' ? value : JSON.stringify(value ?? 'none'))

function show(out: Output, changes: readonly LockChange[]): void {
  for (const change of changes) {
    out.line(`${change.isSilent ? '✗' : '·'} ${plain(change.what)}: ${change.field}${change.isSilent ? ' changed without a new version' : ''}`)
    out.line(`    locked: ${shown(change.from)}`)
    out.line(`    now:    ${shown(change.to)}`)
  }
}

/** JSON: `{ path, changes }`. */
export function writeLock(out: Output, agents: readonly AnyAgent[], path: string): number {
  const now = lockOf(agents)
  const changes = existsSync(path) ? compareLocks(readLock(path), now) : []
  writeFileSync(path, `${JSON.stringify(now, null, 2)}\n`)
  out.emit({ path, changes })
  show(out, changes)
  out.line(`${path} is written${changes.length === 0 ? '' : `, with ${many(changes.length, 'change')}`}. Commit it beside the code.`)
  return exitOf.ok
}

/** Fails on any difference; a silent one names what has to be raised. JSON: `{ path, changes, isSame }`. */
export function checkLock(out: Output, agents: readonly AnyAgent[], path: string): number {
  const before = readLock(path)
  const now = lockOf(agents)
  const changes = compareLocks(before, now)
  const isSame = changes.length === 0
  out.emit({ path, changes, isSame })
  if (isSame) {
    out.line(`${path} says what this code does.`)
    return exitOf.ok
  }
  show(out, changes)
  const silent = changes.filter((change) => change.isSilent)
  out.line(silent.length > 0
    ? `\n${many(silent.length, 'change')} would meet runs under way without a word: raise the version of ${[...new Set(silent.map((change) => plain(change.what)))].join(', ')}, keep the older tool in previousTools, and run "pawl tools --lock".`
    : '\nThe lock is out of date: run "pawl tools --lock" and commit it.')
  return exitOf.failed
}
