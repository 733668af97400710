/** The whole migration in one process, without a ledger: what is done, what fails and why, and that the result stands. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkModule } from './check.ts'
import { knownFailures } from './known-failures.ts'
import { findLodash, listModules } from './modules.ts'
import { proveBehaviour, proveLoads } from './prove.ts'
import { layShims, shimSource } from './shim.ts'
import { transformModule } from './transform.ts'

const lodash = findLodash()
const modules = listModules(lodash)
const root = mkdtempSync(join(tmpdir(), 'pawl-migration-'))
// Vitest compiles what it imports, except below a node_modules: only there do the migrated files meet Node's own ES modules.
const out = join(root, 'node_modules')
const done: string[] = []
const failed = new Map<string, string>()

async function migrate(path: string): Promise<string | undefined> {
  const made = transformModule(path, readFileSync(join(lodash, path), 'utf8'))
  if ('refused' in made) return made.refused
  writeFileSync(join(out, path), made.source)
  const verdict = await checkModule({ outFolder: out, originalFolder: lodash, path })
  if (verdict.ok) return undefined
  writeFileSync(join(out, path), shimSource(path, lodash))
  return verdict.reason
}

beforeAll(async () => {
  mkdirSync(out)
  layShims(out, lodash, modules)
  // Dependents first: the order in which a fleet gets to them is anybody's guess, and the hardest is this one.
  for (const path of modules.toReversed()) {
    const reason = await migrate(path)
    if (reason === undefined) done.push(path)
    else failed.set(path, reason)
  }
}, 120_000)
afterAll(() => rmSync(root, { recursive: true, force: true }))

test('exactly the known modules fail, each showing its known reason, and 614 are done', () => {
  expect([...failed.keys()].sort()).toEqual([...knownFailures.keys()].sort())
  for (const [path, reason] of failed) expect(reason).toContain(knownFailures.get(path)?.shows)
  expect(done).toHaveLength(614)
})

test('the migrated modules load in a process of their own, none is a wrapper, and only failed ones keep a shim', async () => {
  expect(await proveLoads(out, done)).toEqual({ loaded: 614, failed: [], wrappers: [], left: [...failed.keys()].sort() })
})

test('the migrated modules behave as the originals on top of each other', async () => {
  expect(await proveBehaviour({ outFolder: out, originalFolder: lodash, done })).toEqual([])
}, 120_000)

test('the proof sees a wrapper, a module that does not load, and one that stayed a shim', async () => {
  const broken = mkdtempSync(join(tmpdir(), 'pawl-migration-'))
  layShims(broken, lodash, ['eq.js', 'add.js', 'gt.js'])
  writeFileSync(join(broken, 'add.js'), "import { createRequire } from 'node:module'\nexport default createRequire(import.meta.url)\n// module.exports = 1\n")
  writeFileSync(join(broken, 'gt.js'), "import gone from './gone.js'\nexport default gone\n")
  const proof = await proveLoads(broken, ['eq.js', 'add.js', 'gt.js'])
  rmSync(broken, { recursive: true })
  expect(proof).toMatchObject({ loaded: 2, wrappers: ['eq.js', 'add.js'], left: ['eq.js'] })
  expect(proof.failed).toEqual([{ path: 'gt.js', reason: expect.stringContaining('gone.js') as string }])
})

test('shims given a relative folder name no place on this machine and resolve from their own', () => {
  const shim = shimSource('eq.js', '../node_modules/lodash')
  expect(shim).not.toContain(lodash)
  const folder = mkdtempSync(join(tmpdir(), 'pawl-migration-'))
  layShims(folder, './originals', ['eq.js'])
  execFileSync('cp', ['-r', lodash, join(folder, 'originals')])
  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', `import eq from ${JSON.stringify(join(folder, 'eq.js'))}; console.log(eq(NaN, NaN))`], { encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  expect(printed).toBe('true\n')
})
