/**
 * Until a module is migrated, and for good when it cannot be, its place in the output folder holds a shim: an ES module
 * that hands on the original CommonJS module. So every `import x from './x.js'` resolves from the first commit on, and
 * modules can be migrated in any order. A shim is no migration: the marker in its first line is how the proof tells.
 */
import { writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { join, resolve, sep } from 'node:path'

const marker = '// Shim: hands on the CommonJS original; not migrated.'

/**
 * @param path the module's file name, `_apply.js`
 * @param originalFolder where the CommonJS originals are; a relative folder is taken from the shim's own place, so that a
 *   committed output folder need not name a machine's path
 */
export function shimSource(path: string, originalFolder: string): string {
  const relative = originalFolder.startsWith('.')
  const base = relative ? 'import.meta.url' : JSON.stringify(pathToFileURL(resolve(originalFolder) + sep).href)
  const id = relative ? `${originalFolder.replaceAll('\\', '/').replace(/\/$/, '')}/${path}` : join(resolve(originalFolder), path)
  return [
    marker,
    "import { createRequire } from 'node:module'",
    `export default createRequire(${base})(${JSON.stringify(id)})`,
    '',
  ].join('\n')
}

export function isShim(source: string): boolean {
  return source.startsWith(marker)
}

/** The output folder before the first module is migrated: an ES module package of nothing but shims. */
export function layShims(outFolder: string, originalFolder: string, modules: readonly string[]): void {
  writeFileSync(join(outFolder, 'package.json'), '{ "type": "module" }\n')
  for (const path of modules) writeFileSync(join(outFolder, path), shimSource(path, originalFolder))
}
