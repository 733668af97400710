/** docs/cases.md says the truth: every case has an entry, every test it names exists, and what has a literal form is in the tier. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { allCases } from '../packages/testing/src/cases/all-cases.ts'

const root = new URL('..', import.meta.url).pathname

/** The rest of N comes with later issues. */
const classes: Readonly<Record<string, readonly number[]>> = {
  A: [1, 2, 4, 5, 6, 8, 10],
  B: [11, 12, 14, 15, 16, 17, 19, 20],
  C: [22, 23, 24, 25, 27, 28, 29, 30, 32],
  D: [34, 35, 36, 38, 39, 41, 42, 44, 45, 48],
  E: [49, 50, 51, 52, 53, 54, 56, 57, 58],
  F: [60, 61, 62, 63, 64, 66],
  G: [68, 70, 71, 73, 74],
  H: [76, 77, 78, 80, 81],
  I: [83, 84, 85, 86, 88],
  J: [90, 91, 92, 94, 95, 97],
  K: [98, 99],
  L: [101, 102, 104, 105, 107],
  M: [108, 110],
  N: [114, 117],
}

interface Entry {
  readonly id: number
  readonly tests: readonly { readonly file: string; readonly name: string }[]
  readonly literal: string
  readonly state: string
}

/** `` `file`: “name” ``, or without the quotes. */
function testOf(text: string): { file: string; name: string }[] {
  const [, file = '', name = ''] = /^`([^`]+)`: (.+)$/.exec(text.trim()) ?? []
  return file === '' ? [] : [{ file, name: name.replace(/^“(.*)”$/, '$1') }]
}

function readEntries(): Map<string, Entry[]> {
  const page = readFileSync(join(root, 'docs', 'cases.md'), 'utf8')
  return new Map(page.split(/^## /m).slice(1).map((section) => {
    const rows = [...section.matchAll(/^\| (\d+) \|(.*)\|$/gm)].map((row): Entry => {
      // In a table "|" is written "\|".
      const [, tests = '', literal = '', state = ''] = (row[2] ?? '').split(/(?<!\\)\|/).map((cell) => cell.replaceAll('\\|', '|').trim())
      return { id: Number(row[1]), literal, state, tests: tests.split('<br>').flatMap(testOf) }
    })
    return [section.slice(0, 1), rows]
  }))
}

const entries = readEntries()
const all = [...entries.values()].flat()

test.for(Object.entries(classes))('every case of class %s has one entry, in order', ([letter, ids]) => {
  expect(entries.get(letter)?.map((entry) => entry.id)).toEqual(ids)
})

test('every entry names a test or a tier, and every test it names is in its file', () => {
  const missing: string[] = []
  for (const { id, tests, literal, state } of all) {
    if (tests.length === 0 && !literal.startsWith('`--tier ')) missing.push(`case ${id} names neither a test nor a tier`)
    if (!/^(holds$|partly: .|with issue \d+: .)/.test(state)) missing.push(`case ${id} has no state: "${state}"`)
    for (const { file, name } of tests) {
      const text = existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8').replaceAll(String.raw`\'`, `'`) : ''
      if (!['\'', '`', '"'].some((quote) => text.includes(`${quote}${name}${quote}`))) missing.push(`case ${id}: ${file} has no test “${name}”`)
    }
  }
  expect(missing).toEqual([])
})

test('the literal forms of the page are those of the tier', () => {
  expect(all.filter((entry) => entry.literal === '`--tier cases`').map((entry) => entry.id)).toEqual(allCases.map((one) => one.id))
})
