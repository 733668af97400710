/** A real migration: 629 CommonJS modules of lodash to ES modules, three worker processes committing to one branch. Git is the judge. */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findLodash, knownFailures, layShims, listModules, migrationAgent, proveLoads } from '@pawl/example-migration'
import type { Ledger } from '@pawl/ledger'
import type { Example, Proof, World, WorldOptions } from './world.ts'

export const migration: Example = {
  name: 'migration',
  about: 'Migrates the 629 CommonJS modules of lodash 4.17.21 to ES modules (its four bundles are left out), one commit each; workers are killed in the middle of calls, and once everything is.',
  worlds: [openMigration],
}

async function openMigration({ folder, say, isSmall }: WorldOptions): Promise<World> {
  const original = findLodash()
  const all = listModules(original)
  const modules = isSmall ? all.filter((_, i) => i % 9 === 0) : all
  const out = join(folder, 'lodash-es')
  mkdirSync(out)
  git(out, 'init', '--quiet', '--initial-branch=main')
  git(out, 'config', 'user.name', 'Pawl demo')
  git(out, 'config', 'user.email', 'demo@example.com')
  layShims(out, original, all)
  git(out, 'add', '--all')
  git(out, 'commit', '--quiet', '--message', 'Every module a shim over its CommonJS original')
  say(`${modules.length} modules; repository ${out}`)
  return await Promise.resolve({
    agent: migrationAgent({ original, out }), input: { modules },
    configPath: fileURLToPath(import.meta.resolve('@pawl/example-migration/config')), env: { MIGRATION_OUT: out },
    expectedActions: modules.length * 5, items: modules.length, workers: { processes: 3, concurrency: 6 },
    kills: { workers: isSmall ? 2 : 7, everything: true, between: [0.05, 0.92] }, endings: ['completed_with_failures'],
    prove: async (ledger, runId) => await prove(ledger, runId, out, modules),
    close: async () => { await Promise.resolve() },
  })
}

const git = (repo: string, ...args: string[]): string => execFileSync('git', ['-C', repo, ...args], { encoding: 'utf8', maxBuffer: 100_000_000 })

async function prove(ledger: Ledger, runId: string, out: string, modules: readonly string[]): Promise<Proof> {
  const faults: string[] = []
  const items = await ledger.query<{ path: string; status: string; commit: string | null; error: string | null }>(
    `select key as path, status, result_ref as commit, error from pawl.items where run_id = $1 and kind = 'work'`, [runId])
  const done = items.filter((item) => item.status === 'done')
  const failed = items.filter((item) => item.status === 'failed')
  const migrated = readLog(git(out, 'log', '--format=%x00%H%x00%(trailers:key=Pawl-Key,valueonly,separator=%x2C)%x00', '--name-only', 'main')).filter((commit) => commit.key !== '')
  const perModule = new Map<string, number>()
  for (const commit of migrated) for (const path of commit.paths) perModule.set(path, (perModule.get(path) ?? 0) + 1)
  const duplicates = migrated.length - new Set(migrated.map((commit) => commit.key)).size + [...perModule.values()].reduce((sum, n) => sum + n - 1, 0)
  const lost = done.filter((item) => !migrated.some((commit) => commit.id === item.commit && commit.paths.includes(item.path))).length
  for (const path of perModule.keys()) if (!done.some((item) => item.path === path)) faults.push(`${path} has a commit, but its item is not done`)
  for (const item of failed) {
    const known = knownFailures.get(item.path)
    if (!known) faults.push(`${item.path} failed unexpectedly: ${item.error ?? ''}`)
    else if (!item.error?.includes(JSON.stringify(known.shows).slice(1, -1))) faults.push(`${item.path} failed for another reason than the known one: ${item.error ?? ''}`)
  }
  for (const path of knownFailures.keys()) if (modules.includes(path) && !failed.some((item) => item.path === path)) faults.push(`${path} is known to fail, but did not`)
  if (items.length !== modules.length) faults.push(`${items.length} items for ${modules.length} modules`)
  const loads = await proveLoads(out, done.map((item) => item.path))
  if (loads.failed.length > 0 || loads.wrappers.length > 0) faults.push(`${loads.failed.length} migrated modules do not load and ${loads.wrappers.length} are wrappers`)
  if (git(out, 'status', '--porcelain', '--untracked-files=no').trim() !== '') faults.push('the worktree differs from the branch')
  return {
    effects: migrated.length, duplicates, lost, commits: migrated.length, faults,
    facts: [
      `git: ${migrated.length} commits, each with a key of its own, for ${perModule.size} modules; ${failed.length} modules failed for their known reasons and keep a shim`,
      `all ${loads.loaded} migrated modules load without a shim of their own, no "require(" or "module.exports" left`,
    ],
  }
}

interface LoggedCommit {
  readonly id: string
  readonly key: string
  readonly paths: readonly string[]
}

/** NUL, id, NUL, key, NUL, paths by line; again and again. */
function readLog(text: string): LoggedCommit[] {
  const parts = text.split('\0').slice(1)
  return Array.from({ length: Math.floor(parts.length / 3) }, (_, i) => ({
    id: parts[3 * i] ?? '', key: (parts[3 * i + 1] ?? '').trim(), paths: (parts[3 * i + 2] ?? '').split('\n').filter((line) => line.trim() !== ''),
  }))
}
