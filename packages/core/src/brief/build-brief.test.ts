import { expect, test } from 'vitest'
import { briefTokens, buildBrief } from './build-brief.ts'
import type { BriefAction, BriefFacts, BriefTurn } from './facts.ts'
import { estimateTokens } from './estimate.ts'

const facts: BriefFacts = {
  system: 'You write to customers. Be brief.',
  run: { id: '0190-run', agent: 'mailing', agentVersion: '3', modelVersion: 'm-1', promptVersion: 'p-9', schemaVersion: 1, input: { campaign: 'autumn' } },
  item: { seq: 7, kind: 'work', key: 'bob@example.org', payload: { to: 'bob@example.org' } },
  tally: { total: 60, done: 42, failed: 3, blocked: 1, cancelled: 0, failures: [{ reason: 'timeout', count: 2 }, { reason: 'no such address', count: 1 }] },
  actions: [], turns: [], questions: [],
}

const action = (key: string, given: Partial<BriefAction> = {}): BriefAction => ({ key, name: 'sendMail', status: 'committed', args: { to: key }, result: { id: `id-${key}` }, error: null, ...given })
const turn = (n: number, keys: readonly string[]): BriefTurn => ({ n, text: `Turn ${n}.`, calls: keys.map((key) => ({ name: 'sendMail', input: { to: key }, key })) })

/** A hundred turns of a call each, with results that do not all fit. */
const long = (turns: number, chars: number): BriefFacts => ({
  ...facts, turns: Array.from({ length: turns }, (_, i) => turn(i + 1, [`k${i + 1}`])), actions: Array.from({ length: turns }, (_, i) => action(`k${i + 1}`, { result: 'x'.repeat(chars) })),
})

test('an item that has done nothing gets its task, its payload and how the run stands', async () => {
  await expect(JSON.stringify(buildBrief(facts, { tokens: 2_000 }), null, 2)).toMatchFileSnapshot('golden/start.json')
})

test('a resumed item gets its turns word for word, each call with the one result the ledger has', async () => {
  const given: BriefFacts = {
    ...facts,
    turns: [
      { n: 1, text: 'I look him up and write.', calls: [{ name: 'crm.find', input: { q: 'bob' }, key: 'crm.find:7#1' }, { name: 'sendMail', input: { to: 'bob@example.org' }, key: 'mail:bob' }] },
      { n: 2, text: '', calls: [{ name: 'sendMail', input: '{"to":', key: null, refusal: 'The input is no JSON.' }, { name: 'ask', input: { question: 'A discount?' }, key: 'ask:1' }] },
      { n: 3, text: 'Both again.', calls: [{ name: 'sendMail', input: { to: 'bob@example.org' }, key: 'mail:bob' }, { name: 'charge', input: { euros: 5 }, key: 'charge:bob' }, { name: 'charge', input: { euros: 6 }, key: 'charge:ann' }] },
    ],
    actions: [action('setup', { name: 'fs.write' }), action('crm.find:7#1', { name: 'crm.find', result: { name: 'Bob' } }), action('mail:bob'), action('charge:bob', { name: 'charge', status: 'in_doubt', result: null }), action('charge:ann', { name: 'charge', status: 'failed', result: null, error: 'card declined' })],
    questions: [{ key: 'ask:1', question: 'A discount?', status: 'answered', answer: { percent: 10 } }],
  }
  await expect(JSON.stringify(buildBrief(given, { tokens: 4_000 }), null, 2)).toMatchFileSnapshot('golden/resume.json')
})

test('a long item is compacted: early turns in one line per action, the last ones word for word', async () => {
  const brief = buildBrief(long(40, 300), { tokens: 3_000 })
  expect(brief).toMatchObject({ isOver: false })
  expect(brief.turnsDigested).toBeGreaterThan(10)
  expect(brief.turnsDigested).toBeLessThan(40)
  await expect(JSON.stringify(brief, null, 2)).toMatchFileSnapshot('golden/compact.json')
})

test('between two compactions a brief only grows at its end, so that a cache of its beginning holds', () => {
  const briefs = Array.from({ length: 60 }, (_, i) => buildBrief(long(i + 1, 300), { tokens: 4_000 }).messages.slice(0, -1))
  const grown = briefs.filter((after, i) => {
    const before = briefs[i - 1]
    return before !== undefined && JSON.stringify(after.slice(0, before.length)) === JSON.stringify(before)
  })
  expect(grown.length).toBeGreaterThan(40)
  expect(grown.length).toBeLessThan(59)
})

test('a budget that even the shortest lines exceed is reported, and every key is there all the same', () => {
  const brief = buildBrief(long(200, 10), { tokens: 1_000 })
  expect(brief.isOver).toBe(true)
  expect(brief.tokens).toBeGreaterThan(1_000)
  for (let n = 1; n <= 200; n++) expect(brief.messages[0]?.content).toContain(`key k${n} `)
})

test('one result as large as a book leaves the last turn in place and says how much is cut', () => {
  const brief = buildBrief(long(1, 1_000_000), { tokens: 3_000 })
  expect(brief).toMatchObject({ isOver: false, turnsDigested: 0 })
  expect(JSON.stringify(brief.messages)).toContain('of 1000002 characters]')
})

test('tokens are those of the given counter', () => {
  const perChar = (text: string): number => text.length
  const brief = buildBrief(long(20, 100), { tokens: 9_000, estimate: perChar })
  expect(brief.tokens).toBe(briefTokens(brief, perChar))
  expect(brief.tokens).toBeLessThanOrEqual(9_000)
})

test('text outside ASCII counts two bytes to a token', () => {
  expect([estimateTokens(''), estimateTokens('abcde'), estimateTokens('汉字'), estimateTokens('😀')]).toEqual([0, 2, 3, 2])
})
