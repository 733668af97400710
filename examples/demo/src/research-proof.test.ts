/** The judge of the research demo sees what it is there to see. Its rows are given; what it reads are real files. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { factOf } from '@pawl/example-research'
import type { Ledger } from '@pawl/ledger'
import { proveResearch, type ResearchPlace } from './research-proof.ts'

let place: ResearchPlace
const finishedAtMs = 1_000
const items = [{ key: 'tides', attempts: 3, turns: 1, waits: 1 }, { key: 'winds', attempts: 1, turns: 1, waits: 0 }]
const turnRows = items.map(({ key, attempts }, i) => ({ key, attempts, n: 1, decision: JSON.stringify({ text: `Now (${i + 1}): I read.` }) }))
const ledger = {
  query: (text: string) => Promise.resolve(text.includes('pawl.turns t join') ? turnRows : text.includes('max(finished_at)') ? [{ at: finishedAtMs }] : items),
} as unknown as Ledger

const note = (topic: string, findings = 1): string => [factOf(topic, 1), factOf(topic, 2), ...Array.from({ length: findings }, () => 'In short: wet.')].join('\n')
const line = (path: string, value: object): void => appendFileSync(path, `${JSON.stringify(value)}\n`)
const mail = (topic: string, atMs = finishedAtMs + 1): void => line(place.books.mail, { to: `${topic}@readers.example.com`, id: topic, applied: true, atMs })
const asked = (n: number, label: string): void => line(place.books.model, { n, outcome: 'answered', label, why: null })

beforeEach(() => {
  const root = mkdtempSync(join(tmpdir(), 'pawl-proof-'))
  const book = (name: string): string => join(root, name)
  place = { root, topics: ['tides', 'winds'], refused: ['winds'], books: { model: book('model'), memory: book('memory'), graph: book('graph'), mail: book('mail') } }
  for (const folder of ['drafts', 'published']) mkdirSync(join(root, folder))
  writeFileSync(join(root, 'published/tides.md'), note('tides'))
  writeFileSync(join(root, 'drafts/winds.md'), note('winds'))
  for (const topic of place.topics) {
    line(place.books.graph, { type: 'entity', name: topic })
    line(place.books.memory, { key: topic, entities: [topic], carriedOut: true })
    mail(topic)
  }
  asked(1, 'tides#1')
  asked(2, 'winds#1')
})
afterEach(() => { rmSync(place.root, { recursive: true, force: true }) })

const prove = async () => await proveResearch(ledger, 'run', place)

test('a run in which everything happened once is proved', async () => {
  expect(await prove()).toMatchObject({ effects: 9, duplicates: 0, lost: 0, faults: [], thinking: { turns: 2, modelCalls: 2, interruptedTurns: 0, repeatedDecisions: 0 } })
})

test('a finding twice, a mail twice, an entity twice are duplicates; what is missing is lost', async () => {
  writeFileSync(join(place.root, 'published/tides.md'), note('tides', 2))
  mail('winds')
  line(place.books.graph, { type: 'entity', name: 'tides' })
  expect(await prove()).toMatchObject({ duplicates: 3, lost: 0 })
  writeFileSync(place.books.graph, '')
  writeFileSync(place.books.mail, '')
  writeFileSync(join(place.root, 'published/tides.md'), factOf('tides', 1))
  expect(await prove()).toMatchObject({ duplicates: 0, lost: 5 })
})

test('a note that was published without a yes, a mail that left too early, a call under a second key are faults', async () => {
  writeFileSync(join(place.root, 'published/winds.md'), note('winds'))
  mail('tides', finishedAtMs - 1)
  line(place.books.memory, { key: 'another', entities: ['tides'], carriedOut: true })
  const { faults } = await prove()
  expect(faults.join('\n')).toMatch(/note on winds is in published[\s\S]*3 keys for 2 entities[\s\S]*1 mails left before/)
})

test('a model asked after its decision was recorded has repeated it; before, it was interrupted, as often as attempts were cut short', async () => {
  writeFileSync(place.books.model, '')
  asked(1, 'tides#1')
  asked(2, 'winds#1')
  asked(3, 'tides#1')
  expect(await prove()).toMatchObject({ thinking: { repeatedDecisions: 1 }, faults: ['the model was asked again for 1 decisions that were recorded'] })
  writeFileSync(place.books.model, '')
  for (const n of [0, 1]) asked(n, 'tides#1')
  for (const n of [-1, 2]) asked(n, 'winds#1')
  expect(await prove()).toMatchObject({ thinking: { interruptedTurns: 2, repeatedDecisions: 0 }, faults: ['item winds: 2 model calls, but 1 turns and 0 attempts that were cut short'] })
})

test('a request its API refused, and a decision that no request made, are faults', async () => {
  writeFileSync(place.books.model, '')
  line(place.books.model, { n: 1, outcome: 'refused', label: null, why: 'messages' })
  asked(2, 'winds#1')
  expect((await prove()).faults).toEqual(['request 1 to the model: refused, messages', 'turn tides#1 is recorded with a decision the model never made'])
})
