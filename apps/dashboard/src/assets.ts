/** What the login page and Bull Board’s page need, read once. Their address carries a digest, so browsers may keep them for ever and still get the next version. */
import { sha256 } from '@pawl/core'
import { readFileSync } from 'node:fs'

const types = { 'style.css': 'text/css; charset=utf-8', 'board.css': 'text/css; charset=utf-8', 'board.js': 'text/javascript; charset=utf-8', 'icon.svg': 'image/svg+xml' } as const
export type AssetName = keyof typeof types

const isName = (name: string): name is AssetName => Object.hasOwn(types, name)

/** `static/` lies beside `src/` and `dist/`. */
const read = (name: AssetName): Buffer => readFileSync(new URL(`../static/${name}`, import.meta.url))
const known = new Map(Object.keys(types).filter(isName).map((name) => {
  const content = read(name)
  return [name, { content, type: types[name], version: sha256(content.toString('latin1')).slice(0, 12) }] as const
}))

export const assets = {
  href: (name: AssetName): string => `/static/${name}?v=${known.get(name)?.version ?? ''}`,
  find: (name: string) => (isName(name) ? known.get(name) : undefined),
}
