/**
 * Whether a migrated file in the output folder behaves as its CommonJS original.
 *
 * The file is judged alone: a copy of it is imported from `<outFolder>/.check`, where every dependency is a shim over its
 * original. So the verdict does not depend on which of its dependencies are migrated by now, nor on one that another worker has written
 * and not yet checked. The copy is named after its content, as ES modules are cached by URL for good: a
 * file rewritten after a failed check is imported afresh. `.check` ignores itself in git and may be deleted at any time.
 * That the modules also behave together is what `prove.ts` is for.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { findDifference } from './compare.ts'
import { dependenciesOf } from './modules.ts'
import { makeReceivers } from './receivers.ts'
import { isShim, shimSource } from './shim.ts'

export type Verdict = { readonly ok: true } | { readonly ok: false; readonly reason: string }

/**
 * @param target.outFolder holds the migrated file `path`; @param target.originalFolder holds its original;
 * @param target.limitMs gives up on the calls after this long, 10 seconds unless told.
 */
export async function checkModule(target: { outFolder: string; originalFolder: string; path: string; limitMs?: number }): Promise<Verdict> {
  const { outFolder, originalFolder, path, limitMs = 10_000 } = target
  const source = readFileSync(join(outFolder, path), 'utf8')
  if (isShim(source)) return { ok: false, reason: `${path} is still the shim over its original` }
  const leftovers = findLeftovers(source)
  if (leftovers.length > 0) return { ok: false, reason: `${path} still contains ${leftovers.join(' and ')}` }
  const originalSource = readFileSync(join(originalFolder, path), 'utf8')
  const copy = placeCopy(join(outFolder, '.check'), originalFolder, path, source, dependenciesOf(originalSource))
  let loaded: Record<string, unknown>
  try {
    loaded = await import(pathToFileURL(copy).href) as Record<string, unknown>
  } catch (thrown) {
    return { ok: false, reason: `${path} does not load: ${String(thrown)}` }
  }
  if (Object.keys(loaded).join() !== 'default') return { ok: false, reason: `${path} exports ${Object.keys(loaded).join(', ') || 'nothing'} where one default export is due` }
  const require = createRequire(join(originalFolder, 'package.json'))
  const receivers = makeReceivers((name) => require(`./${name}`) as unknown)
  const difference = findDifference({
    path, originalSource, limitMs,
    migrated: { value: loaded['default'], receivers },
    original: { value: require(`./${path}`), receivers },
  })
  return difference === undefined ? { ok: true } : { ok: false, reason: `${path}, ${difference}` }
}

/** CommonJS words that no migrated file may contain, comments included. */
export function findLeftovers(source: string): string[] {
  return ['require(', 'module.exports'].filter((word) => source.includes(word))
}

function placeCopy(folder: string, originalFolder: string, path: string, source: string, dependencies: string[]): string {
  mkdirSync(folder, { recursive: true })
  place(join(folder, '.gitignore'), '*\n')
  place(join(folder, 'package.json'), '{ "type": "module" }\n')
  for (const dependency of dependencies) place(join(folder, dependency), shimSource(dependency, originalFolder))
  const digest = createHash('sha256').update(source).digest('hex').slice(0, 16)
  const copy = join(folder, `${path.replace(/\.js$/, '')}.${digest}.js`)
  place(copy, source)
  return copy
}

const placed = new Set<string>()

/** Whole or not at all: several workers place the same text at the same time. Once per process is enough. */
function place(file: string, text: string): void {
  if (placed.has(file)) return
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, text)
  renameSync(draft, file)
  placed.add(file)
}
