/** Pages, single things, and what is not there. */
import { newId } from '@pawl/core'
import { type Ledger } from '@pawl/ledger'
import { beforeAll, describe, expect, test } from 'vitest'
import type { PawlClient } from '../contract.ts'
import { leftOutOf } from '../left-out.ts'
import { refused, seeds, type Opening } from './ground.testsuite.ts'

export function testLists(opening: Opening): void {
  describe('lists and single things', () => {
    let client: PawlClient
    let ledger: Ledger
    beforeAll(() => { ({ client, ledger } = opening()) })

    const startOf = async (n: number): Promise<string> => (await client.startRun('stock', null, { items: seeds(n) })).id

    test('pages of runs neither repeat nor skip while new runs arrive', async () => {
      const labels = { paging: newId() }
      const ids: string[] = []
      for (let i = 0; i < 5; i++) ids.push((await client.startRun('stock', i, { items: seeds(1), labels })).id)
      const first = await client.listRuns({ labels, limit: 2 })
      await client.startRun('stock', 'new', { items: seeds(1), labels })
      const second = await client.listRuns({ labels, limit: 2, cursor: first.cursor ?? '' })
      const third = await client.listRuns({ labels, limit: 2, cursor: second.cursor ?? '' })
      expect([...first.entries, ...second.entries, ...third.entries].map((run) => run.id)).toEqual(ids.toReversed())
      expect(third.cursor).toBeNull()
      expect((await client.listRuns({ labels, agent: 'mailing' })).entries).toEqual([])
      expect((await client.listRuns({ labels, status: 'running' })).entries).toHaveLength(6)
    })

    /** Every page of a list, with `between` done after each. */
    async function gather<T>(page: (cursor: string | undefined) => Promise<{ entries: readonly T[]; cursor: string | null }>, between: (pages: number) => Promise<unknown>): Promise<T[]> {
      const found: T[] = []
      for (let cursor: string | undefined, pages = 1; ; pages++) {
        const { entries, cursor: next } = await page(cursor)
        found.push(...entries)
        if (next === null) return found
        cursor = next
        await between(pages)
      }
    }

    test('while rows come, change and move, pages show nothing twice and lose nothing that was there throughout', async () => {
      const labels = { moving: newId() }
      const ids: string[] = []
      for (let i = 0; i < 12; i++) ids.push((await client.startRun('stock', i, { items: seeds(2), labels })).id)
      const runs = await gather((cursor) => client.listRuns({ labels, limit: 3, cursor }), async (pages) => {
        await client.startRun('stock', 'new', { items: [], labels })
        // One that was seen, one that was not.
        await client.cancel(ids[12 - pages] ?? '')
        await client.pause(ids[pages - 1] ?? '')
      })
      expect(runs.map((run) => run.id)).toEqual(ids.toReversed())

      const { id } = await client.startRun('stock', null, { items: seeds(20) })
      let more = 500
      const items = await gather((cursor) => client.listItems(id, { limit: 3, cursor }), async (pages) => {
        await ledger.query(`insert into pawl.items (run_id, seq, kind, key, payload) values ($1, $2, 'work', $3, 'null')`, [id, more, `new-${more}`])
        more += 1
        await ledger.query(`update pawl.items set status = case status when 'pending' then 'in_progress' else 'pending' end where run_id = $1 and seq % 3 = $2`, [id, pages % 3])
      })
      expect(items.filter((item) => item.seq < 500).map((item) => item.key)).toEqual(seeds(20).map((seed) => seed.key))
      expect(new Set(items.map((item) => item.seq)).size).toBe(items.length)

      const addAction = (n: number): Promise<unknown> => ledger.query(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, timeout_ms, settle_ms)
        values ($1, $2, $3, 't', '1', 'idempotent', 'started', 1, '{}', 'd', 1, 1)`, [id, items[n % 20]?.seq ?? -1, `call-${n}`])
      for (let n = 0; n < 20; n++) await addAction(n)
      const actions = await gather((cursor) => client.listActions(id, { limit: 3, cursor }), async (pages) => {
        await addAction(100 + pages)
        await ledger.query(`update pawl.actions set status = 'committed', attempt = attempt + 1 where run_id = $1 and id % 3 = $2`, [id, pages % 3])
      })
      expect(actions.slice(0, 20).map((action) => action.key)).toEqual(Array.from({ length: 20 }, (_, n) => `call-${n}`))
      expect(new Set(actions.map((action) => action.id)).size).toBe(actions.length)

      const block = (seq: number): Promise<unknown> => ledger.query(`update pawl.items set status = 'blocked', blocked_reason = 'crash_loop' where run_id = $1 and seq = $2`, [id, seq])
      for (const { seq } of items.slice(0, 12)) await block(seq)
      const waiting = await gather((cursor) => client.inbox({ runId: id, limit: 3, cursor }), async (pages) => {
        // One that was shown is answered, one that was not is new.
        await client.releaseItem(id, items[pages - 1]?.seq ?? -1, 'resume')
        await block(items[12 + pages]?.seq ?? -1)
      })
      const shown = waiting.map((entry) => entry.itemSeq)
      expect(new Set(shown).size).toBe(shown.length)
      expect(shown).toEqual(expect.arrayContaining(items.slice(3, 12).map((item) => item.seq)))
    })

    test('a cursor or limit that is none is refused', async () => {
      expect((await refused(client.listRuns({ cursor: 'x' }))).code).toBe('BAD_CURSOR')
      expect((await refused(client.listRuns({ limit: 0 }))).message).toMatch(/limit/)
    })

    test('values over 64 kB are left out of lists and whole where one is asked for', async () => {
      const big = 'y'.repeat(100_000)
      const { id } = await client.startRun('stock', null, { items: [{ key: 'big', payload: big }] })
      const [listed] = (await client.listItems(id)).entries
      expect(listed?.payload).toEqual({ $pawl: 'omitted', bytes: 100_002 })
      expect((await client.getItem(id, listed?.seq ?? -1)).payload).toBe(big)
    })

    test('of an action every big value is left out of lists, one by one, and whole where it is asked for alone', async () => {
      const { id } = await client.startRun('stock', null, { items: seeds(1) })
      const big = 'y'.repeat(900_000)
      const undo = { tool: 'x', version: '1', input: big }
      for (let n = 0; n < 20; n++) {
        await ledger.query(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, timeout_ms, settle_ms, undo, applied_evidence, evidence)
          values ($1, 1, $2, 't', '1', 'idempotent', 'in_doubt', 1, 'null', 'd', 1, 1, $3, $4, array['"first"', $4, '"last"'])`, [id, `call-${n}`, JSON.stringify(undo), JSON.stringify(big)])
      }
      const omitted = (bytes: number): object => ({ $pawl: 'omitted', bytes })
      const shown = { undo: omitted(JSON.stringify(undo).length), appliedEvidence: omitted(900_002), evidence: ['first', omitted(900_002), 'last'] }
      const { entries } = await client.listActions(id)
      expect(entries.map(({ undo: inverse, appliedEvidence, evidence }) => ({ undo: inverse, appliedEvidence, evidence }))).toEqual(Array.from({ length: 20 }, () => shown))
      expect((await client.inbox({ runId: id })).entries).toMatchObject(Array.from({ length: 20 }, () => ({ kind: 'in_doubt', action: shown })))
      expect(await client.getAction(id, entries[0]?.id ?? -1)).toMatchObject({ id: entries[0]?.id, undo, appliedEvidence: big, evidence: ['first', big, 'last'] })
      expect(entries[0] && leftOutOf(entries[0])).toEqual({ values: 3, bytes: JSON.stringify(undo).length + 2 * 900_002 })
      expect(leftOutOf(await client.getAction(id, entries[0]?.id ?? -1))).toBeUndefined()
    })

    test('a brief is what a model is shown next: built from the ledger, within the tokens asked for', async () => {
      const { id } = await client.startRun('stock', { campaign: 'autumn' }, { items: seeds(2) })
      const [first, second] = (await client.listItems(id)).entries
      const seq = first?.seq ?? -1
      await ledger.query(`insert into pawl.turns (run_id, item_seq, n, epoch, model_version, prompt_version, decision) values ($1, $2, 1, 1, 'm', 'p', $3)`,
        [id, seq, JSON.stringify({ text: 'I write.', finishReason: 'tool-calls', calls: [{ name: 'sendMail', input: { to: 'ann' }, key: 'mail:ann' }, { name: 'sendMail', input: { to: 'bob' }, key: 'mail:bob' }] })])
      for (const [key, status, result] of [['mail:ann', 'committed', '{"id":"m-1"}'], ['mail:bob', 'started', null]] as const) {
        await ledger.query(`insert into pawl.actions (run_id, item_seq, turn, key, tool, tool_version, effect, status, epoch, args, args_digest, result, timeout_ms, settle_ms) values ($1, $2, 1, $3, 'mail.send', '1', 'idempotent', $4, 1, '{}', 'd', $5, 1, 1)`, [id, seq, key, status, result])
      }
      await ledger.query(`update pawl.items set status = 'failed', error = '{"name":"E","message":"no such address"}' where run_id = $1 and seq = $2`, [id, second?.seq ?? -1])
      const brief = await client.brief(id, seq)
      expect(brief).toMatchObject({ hasInstructions: false, budget: 30_000, isOver: false, turnsDigested: 0 })
      expect(brief.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'user'])
      expect(brief.messages[0]?.content).toContain('{"campaign":"autumn"}')
      expect(brief.messages[2]?.content).toMatchObject([{ toolCallId: 't1_1', output: { value: expect.stringMatching(/^\[done · key mail:ann\]\n{"id":"m-1"}/) as string } }, { toolCallId: 't1_2', output: { value: expect.stringMatching(/^\[outcome unknown.* key mail:bob\]$/) as string } }])
      expect(brief.messages[3]?.content).toContain('0 of 2 items done; 1 failed: no such address ×1')
      expect(await client.brief(id, seq, { tokens: 200 })).toMatchObject({ budget: 200, turnsDigested: 1 })
      expect((await refused(client.brief(id, seq, { tokens: 1 }))).code).toBe('BAD_TOKENS')
      expect((await refused(client.brief(id, 99))).code).toBe('NOT_FOUND')
      expect((await refused(client.brief(newId(), 1))).code).toBe('NOT_FOUND')
    })

    test('ids that name nothing get one and the same answer', async () => {
      for (const id of [newId(), 'nonsense', '../../etc', '%00']) {
        const errors = await Promise.all([client.getRun(id), client.listItems(id), client.getItem(id, 1), client.listActions(id), client.getAction(id, 1), client.listEvents(id), client.pause(id), client.resume(id), client.cancel(id), client.compensate(id)].map(refused))
        expect(new Set(errors.map((error) => error.code))).toEqual(new Set(['NOT_FOUND']))
      }
      const id = await startOf(1)
      expect((await refused(client.getItem(id, 99))).code).toBe('NOT_FOUND')
      expect((await refused(client.getAction(id, 99))).code).toBe('NOT_FOUND')
      expect((await refused(client.settle(id, 99, { answer: 'abandon', attempt: 1, evidence: 0 }))).code).toBe('NOT_FOUND')
    })
  })
}
