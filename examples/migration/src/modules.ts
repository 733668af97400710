/**
 * Which modules the example migrates: every `.js` file directly in lodash's folder but the four bundles, 629 in 4.17.21.
 *
 * Left out, and why:
 * - `lodash.js`, `lodash.min.js`, `core.js`, `core.min.js`: built bundles that hold the other modules' code a second time
 *   inside one UMD wrapper. Their source is the modules; migrating both would migrate the same code twice.
 * - the folder `fp/` (415 files): a second library over the bundle, not over the modules. Each of its files pulls its
 *   function out of `fp/_util`, which loads the bundle's parts by name, so there is no module graph to carry over.
 *
 * `index.js` and `fp.js` are among the 629 although all they do is hand on a bundle: the transform refuses them by name.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

export const bundles: ReadonlySet<string> = new Set(['lodash.js', 'lodash.min.js', 'core.js', 'core.min.js'])

/** The folder of the lodash this example declares. A workspace root may hold another version: never take that one. */
export function findLodash(): string {
  return dirname(createRequire(import.meta.url).resolve('lodash/package.json'))
}

/** File names such as `_apply.js`, dependencies before their dependents, otherwise in order of code units. */
export function listModules(lodashFolder: string): string[] {
  const names = readdirSync(lodashFolder).filter((name) => name.endsWith('.js') && !bundles.has(name)).sort()
  const known = new Set(names)
  const ordered = new Set<string>()
  const visit = (name: string): void => {
    if (ordered.has(name) || !known.delete(name)) return
    for (const dependency of dependenciesOf(readFileSync(join(lodashFolder, name), 'utf8'))) visit(dependency)
    ordered.add(name)
  }
  for (const name of names) visit(name)
  return [...ordered]
}

/** File names a CommonJS module of lodash requires: `./_root` gives `_root.js`, `./fp/_baseConvert` gives `fp/_baseConvert.js`. */
export function dependenciesOf(source: string): string[] {
  const found = [...source.matchAll(/\brequire\('\.\/([^']+)'\)/g)].map((match) => `${match[1] ?? ''}.js`)
  return [...new Set(found)]
}
