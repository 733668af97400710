/** What a start takes, refuses and leaves behind. */
import { newId } from '@pawl/core'
import { type Ledger } from '@pawl/ledger'
import { beforeAll, describe, expect, test } from 'vitest'
import type { ItemSeed, PawlClient } from '../contract.ts'
import { mailing, refused, seeds, type Opening } from './ground.testsuite.ts'

export function testStarts(opening: Opening): void {
  describe('starts', () => {
    let client: PawlClient
    let ledger: Ledger
    let actor: string
    beforeAll(() => { ({ client, ledger, actor } = opening()) })

    const countRuns = async (): Promise<number> => (await ledger.query<{ n: number }>('select count(*)::integer as n from pawl.runs'))[0]?.n ?? -1

    test('a run of an agent with a split begins with it, with its input kept', async () => {
      const { id, isNew } = await client.startRun(mailing, { recipients: ['a', 'b'] }, { labels: { team: 'red' } })
      const run = await client.getRun(id)
      // A producer serves splits itself: it may have begun, or be through.
      expect({ isNew, status: run.status, input: run.input, labels: run.labels, by: run.createdBy }).toEqual({
        isNew: true, status: expect.stringMatching(/^(splitting|running)$/) as string, input: { recipients: ['a', 'b'] }, labels: { team: 'red' }, by: actor,
      })
      expect((await client.listItems(id)).entries[0]).toMatchObject({ kind: 'split' })
    })

    test('items given with the request are there in order, with values JSON does not have', async () => {
      const payload = { at: new Date('2026-01-02T03:04:05Z'), big: 5_810_142_810_638_157_171n, bytes: new Uint8Array([0, 255]), text: 'a\u0000b', $encoded: 'mine' }
      const { id } = await client.startRun('stock', payload, { items: [{ key: 'z', payload }, { key: 'a', payload: null }, { key: '../x:1', payload: { $encoded: 'x' } }] })
      const { entries } = await client.listItems(id)
      expect(entries.map((item) => item.key)).toEqual(['z', 'a', '../x:1'])
      expect(entries.map((item) => item.payload)).toEqual([payload, null, { $encoded: 'x' }])
      expect((await client.getRun(id)).input).toEqual(payload)
    })

    test('inputs and payloads are typed by the agent', () => {
      // Never run: what must not compile.
      const wrong = (): unknown[] => [
        // @ts-expect-error recipients are text
        client.startRun(mailing, { recipients: [1] }),
        // @ts-expect-error a payload has a recipient
        client.startRun(mailing, { recipients: [] }, { items: [{ key: 'a', payload: { too: 'a' } }] }),
      ]
      expect(wrong).toBeTypeOf('function')
    })

    test('a run without items is a run', async () => {
      const { id } = await client.startRun('stock', 1, { items: [] })
      expect((await client.getRun(id)).tally.total).toBe(0)
    })

    test.each([['a uuid', newId()], ['255 characters', 'k'.repeat(255)], ['text beyond ASCII', 'clé-日本-🔑']])('20 parallel starts with one key, %s, are one run', async (_, idempotencyKey) => {
      const started = await Promise.all(Array.from({ length: 20 }, () => client.startRun('stock', { a: 1, b: 2 }, { items: seeds(30), idempotencyKey })))
      expect(new Set(started.map((run) => run.id)).size).toBe(1)
      expect(started.filter((run) => run.isNew)).toHaveLength(1)
      expect((await client.getRun(started[0]?.id ?? '')).tally.total).toBe(30)
    })

    test('the order of an input’s members does not make it another request', async () => {
      const first = await client.startRun('stock', { a: 1, b: 2 }, { items: [], idempotencyKey: 'order' })
      expect(await client.startRun('stock', { b: 2, a: 1 }, { items: [], idempotencyKey: 'order' })).toEqual({ id: first.id, isNew: false })
    })

    test('the same key with another request is refused and starts nothing', async () => {
      const { id } = await client.startRun('stock', 1, { items: seeds(2), idempotencyKey: 'conflict' })
      const before = await countRuns()
      const errors = await Promise.all([
        client.startRun('stock', 2, { items: seeds(2), idempotencyKey: 'conflict' }),
        client.startRun('stock', 1, { items: seeds(3), idempotencyKey: 'conflict' }),
        client.startRun('stock', 1, { items: seeds(2), idempotencyKey: 'conflict', labels: { a: 'b' } }),
        client.startRunFromStream({ agent: 'stock', input: 1 }, seeds(3), { idempotencyKey: 'conflict' }),
      ].map(refused))
      for (const error of errors) expect(error).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT', message: expect.stringContaining(id) as string })
      expect(await countRuns()).toBe(before)
    })

    test('a streamed request is the same request as a whole one', async () => {
      const whole = await client.startRun('stock', { x: 1 }, { items: seeds(5), idempotencyKey: 'whole-or-stream' })
      expect(await client.startRunFromStream({ agent: 'stock', input: { x: 1 } }, seeds(5), { idempotencyKey: 'whole-or-stream' })).toEqual({ id: whole.id, isNew: false })
    })

    const cyclic: Record<string, unknown> = {}
    cyclic['self'] = cyclic
    let deep: unknown = 1
    for (let i = 0; i < 600; i++) deep = [deep]
    test.each<[string, string, RegExp, () => Promise<unknown>]>([
      ['an unknown agent', 'UNKNOWN_AGENT', /"mialing".*"mailing", "stock"/s, () => client.startRun('mialing', {})],
      ['an unknown version', 'UNKNOWN_VERSION', /"9".*"1"/s, () => client.startRun('mailing', { recipients: [] }, { version: '9' })],
      ['an input of the wrong type', 'BAD_INPUT', /input\.recipients\.1.*string/, () => client.startRun('mailing', { recipients: ['a', 2] })],
      ['a payload of the wrong type', 'BAD_PAYLOAD', /Item 2 \("b"\): payload\.to.*string/, () => client.startRun('mailing', { recipients: [] }, { items: [{ key: 'a', payload: { to: 'a' } }, { key: 'b', payload: { to: 1 } }] })],
      ['no items for an agent without split', 'ITEMS_NEEDED', /pass items/, () => client.startRun('stock', 1)],
      ['the same item key twice', 'DUPLICATE_KEYS', /"item-1"/, () => client.startRun('stock', 1, { items: [...seeds(3), { key: 'item-1', payload: 0 }] })],
      ['an empty item key', 'BAD_ITEM_KEY', /Item 1/, () => client.startRun('stock', 1, { items: [{ key: '', payload: 0 }] })],
      ['an item key of 301 characters', 'BAD_ITEM_KEY', /301/, () => client.startRun('stock', 1, { items: [{ key: 'k'.repeat(301), payload: 0 }] })],
      ['an item key with NUL', 'BAD_ITEM_KEY', /Item 1/, () => client.startRun('stock', 1, { items: [{ key: 'a\u0000', payload: 0 }] })],
      ['an item key with a lone surrogate', 'BAD_ITEM_KEY', /Item 1/, () => client.startRun('stock', 1, { items: [{ key: '\ud800', payload: 0 }] })],
      ['a payload over its limit', 'TOO_LARGE', /"big".*1000000/, () => client.startRun('stock', 1, { items: [{ key: 'big', payload: 'x'.repeat(1_000_001) }] })],
      ['an input over its limit', 'TOO_LARGE', /input.*1000000/, () => client.startRun('stock', 'x'.repeat(1_000_001), { items: [] })],
      ['a value that contains itself', 'UNSTORABLE', /contains itself/, () => client.startRun('stock', cyclic, { items: [] })],
      ['a value that cannot be kept', 'UNSTORABLE', /function/, () => client.startRun('stock', { f: () => 1 }, { items: [] })],
      ['a value that nests too deep', '', /deeper than 500/, () => client.startRun('stock', deep, { items: [] })],
      ['an empty key', 'BAD_IDEMPOTENCY_KEY', /1 to 255/, () => client.startRun('stock', 1, { items: [], idempotencyKey: '' })],
      ['a key of 256 characters', 'BAD_IDEMPOTENCY_KEY', /1 to 255/, () => client.startRun('stock', 1, { items: [], idempotencyKey: 'k'.repeat(256) })],
      ['a policy that is none', '', /onFailure/, () => client.startRun('stock', 1, { items: [], policy: { onFailure: 'explode' as 'hold' } })],
      ['a label with NUL', 'BAD_LABELS', /labels/, () => client.startRun('stock', 1, { items: [], labels: { a: '\u0000' } })],
    ])('%s is refused with the way out and leaves nothing behind', async (_, code, sentence, start) => {
      const before = await countRuns()
      const error = await refused(start())
      expect(error.message).toMatch(sentence)
      if (code !== '') expect(error.code).toBe(code)
      expect(await countRuns()).toBe(before)
    })

    test('a stream of 2,500 items is there as a whole, in order', async () => {
      const { id, isNew } = await client.startRunFromStream({ agent: 'stock', input: 'in', labels: { big: 'yes' } }, seeds(2_500), { idempotencyKey: 'stream' })
      expect(isNew).toBe(true)
      const run = await client.getRun(id)
      expect({ total: run.tally.total, status: run.status, input: run.input }).toEqual({ total: 2_500, status: 'running', input: 'in' })
      const keys: string[] = []
      let cursor: string | undefined
      do {
        const page = await client.listItems(id, { limit: 700, cursor })
        keys.push(...page.entries.map((item) => item.key))
        cursor = page.cursor ?? undefined
      } while (cursor !== undefined)
      expect(keys).toEqual(seeds(2_500).map((seed) => seed.key))
      expect(await client.startRunFromStream({ agent: 'stock', input: 'in', labels: { big: 'yes' } }, seeds(2_500), { idempotencyKey: 'stream' })).toEqual({ id, isNew: false })
    })

    test.each<[string, string, RegExp, ItemSeed[]]>([
      ['a key it brought a thousand items before', 'DUPLICATE_KEYS', /"item-7"/, [...seeds(1_500), { key: 'item-7', payload: 1 }]],
      ['an item key that cannot be kept', 'BAD_ITEM_KEY', /1501|1502/, [...seeds(1_500), { key: 'x'.repeat(301), payload: 1 }]],
    ])('a stream with %s leaves nothing behind, its key included', async (_, code, sentence, items) => {
      const before = await countRuns()
      const error = await refused(client.startRunFromStream({ agent: 'stock' }, items, { idempotencyKey: 'bad-stream' }))
      expect(error.code).toBe(code)
      expect(error.message).toMatch(sentence)
      expect(await countRuns()).toBe(before)
      const { id } = await client.startRunFromStream({ agent: 'stock' }, seeds(3), { idempotencyKey: 'bad-stream' })
      expect((await client.getRun(id)).tally.total).toBe(3)
      await ledger.query(`delete from pawl.run_keys where key = 'bad-stream'`)
    })
  })
}
