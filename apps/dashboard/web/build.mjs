/**
 * Builds the pages when something they are made of changed. A dashboard that is starting meanwhile reads either the old pages or the new ones:
 * the folder is made beside and moved into place.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const target = here('../dist/web')
const stamp = `${target}/.made-of`
const made = digestOf(['index.html', 'vite.config.ts', 'src', '../../../packages/client/src', '../../../packages/core/src', '../../../package-lock.json'])

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== made) {
  const { build } = await import('vite')
  const draft = `${target}.${process.pid}`
  await build({ configFile: here('vite.config.ts'), logLevel: 'warn', build: { outDir: draft } })
  writeFileSync(`${draft}/.made-of`, made)
  rmSync(target, { recursive: true, force: true })
  renameSync(draft, target)
}

function digestOf(names) {
  const hash = createHash('sha256')
  for (const path of names.map(here).flatMap(filesBelow)) hash.update(path.slice(here('.').length)).update('\0').update(readFileSync(path)).update('\0')
  return hash.digest('hex')
}

function filesBelow(path) {
  if (/\.[a-z]+$/.test(path)) return [path]
  return readdirSync(path, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile() && !/\.test(suite)?\.tsx?$/.test(entry.name)).map((entry) => `${entry.parentPath}/${entry.name}`).toSorted()
}
