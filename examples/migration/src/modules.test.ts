import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bundles, dependenciesOf, findLodash, listModules } from './modules.ts'

const lodash = findLodash()
const modules = listModules(lodash)
const read = (path: string): string => readFileSync(join(lodash, path), 'utf8')

test('the lodash that is migrated is 4.17.21, whatever else the workspace root holds', () => {
  expect(JSON.parse(read('package.json'))).toMatchObject({ name: 'lodash', version: '4.17.21' })
})

test('629 modules are listed, each once, without the bundles and the fp folder', () => {
  expect(modules).toHaveLength(629)
  expect(new Set(modules).size).toBe(629)
  expect(modules.filter((path) => bundles.has(path) || path.includes('/'))).toEqual([])
})

test('every module comes after all it depends on, so there is no cycle among them', () => {
  const place = new Map(modules.map((path, index) => [path, index]))
  const early = modules.flatMap((path, index) => dependenciesOf(read(path)).filter((dependency) => (place.get(dependency) ?? -1) >= index))
  expect(early).toEqual([])
})

test('only index.js and fp.js depend on what is not migrated', () => {
  const outward = modules.filter((path) => dependenciesOf(read(path)).some((dependency) => !modules.includes(dependency)))
  expect(outward.sort()).toEqual(['fp.js', 'index.js'])
})
