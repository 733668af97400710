/**
 * The files a config is made of: itself and what it imports by a relative path, again and again. Only these are watched, so that what agents
 * write into the folder never restarts the agents that write it. Read off the text: what is imported under a computed name is not seen.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

const specifier = /(?:\bfrom|\bimport)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g

export function moduleFiles(entry: string): string[] {
  const found = new Set<string>()
  const open = [resolve(entry)]
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (found.has(file)) continue
    found.add(file)
    if (!/\.[cm]?[jt]sx?$/.test(file)) continue
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(specifier)) {
      const target = locate(resolve(dirname(file), path))
      if (target !== undefined) open.push(target)
    }
  }
  return [...found].toSorted()
}

/** As TypeScript's users write it: with the extension it has, the one it will have, or none. */
function locate(path: string): string | undefined {
  const bare = path.replace(/\.([cm]?)js(x?)$/, '.$1ts$2')
  return [path, bare, ...['.ts', '.tsx', '.mts', '.js', '.mjs', '/index.ts', '/index.js'].map((end) => `${path}${end}`)].find((candidate) => existsSync(candidate) && statSync(candidate).isFile())
}
