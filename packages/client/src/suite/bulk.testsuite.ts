/** One verb for many runs, and a run as lines. */
import { newId } from '@pawl/core'
import { askQuestion, requestApproval, type Ledger } from '@pawl/ledger'
import { beforeAll, describe, expect, test } from 'vitest'
import type { BulkRequest, PawlClient } from '../contract.ts'
import type { ExportLine } from '../wire-export.ts'
import type { Bulk } from '../wire-bulk.ts'
import { claimed, eventsOf, refused, seeds, type Opening } from './ground.testsuite.ts'

export function testBulk(opening: Opening): void {
  describe('bulk operations', () => {
    let client: PawlClient
    let ledger: Ledger
    let actor: string
    beforeAll(() => { ({ client, ledger, actor } = opening()) })

    async function runsOf(n: number, labels: Record<string, string> = {}): Promise<string[]> {
      const ids: string[] = []
      for (let i = 0; i < n; i++) ids.push((await client.startRun('stock', i, { items: seeds(1), labels })).id)
      return ids
    }
    async function through(id: string): Promise<Bulk> {
      await expect.poll(async () => { const { total, done, failed } = await client.bulkStatus(id); return total - done - failed }, { timeout: 20_000, interval: 50 }).toBe(0)
      return await client.bulkStatus(id)
    }
    const kindsOf = async (runId: string): Promise<string[]> => (await eventsOf(opening(), runId)).map((event) => event.kind)

    test('is done to each run that was named once, in the name of who asked; what refuses it or is not there says so, and the others go on', async () => {
      const [one = '', two = '', ended = ''] = await runsOf(3)
      await client.cancel(ended)
      const unknown = newId()
      const { id, isNew } = await client.bulk({ verb: 'pause', reason: 'lunch', runIds: [one, two, one, ended, unknown] })
      const bulk = await through(id)
      expect(isNew).toBe(true)
      expect(bulk).toMatchObject({ id, verb: 'pause', by: actor, createdAt: expect.any(Date) as Date, total: 4, done: 2, failed: 2, cursor: null })
      expect(new Map(bulk.entries.map((entry) => [entry.runId, entry.outcome]))).toEqual(new Map([[one, 'done'], [two, 'done'], [ended, 'wrong_state'], [unknown, 'missing']]))
      expect(bulk.entries.find(({ runId }) => runId === ended)?.detail).toMatch(/was cancelled\. Only a run that is under way can be paused/)
      for (const runId of [one, two]) {
        expect((await client.getRun(runId)).paused).toBe(true)
        expect((await eventsOf(opening(), runId)).filter((event) => event.kind === 'run.paused')).toMatchObject([{ actor, data: { reason: 'lunch' } }])
      }
    })

    test('by a filter is done to the runs it finds when it is asked; a later one is not among them', async () => {
      const mark = newId()
      const ids = await runsOf(4, { mark })
      const { id } = await client.bulk({ verb: 'cancel', filter: { labels: { mark }, status: ['running', 'failed'] }, reason: 'enough' })
      const [later = ''] = await runsOf(1, { mark })
      expect(await through(id)).toMatchObject({ verb: 'cancel', total: 4, done: 4, failed: 0 })
      for (const runId of ids) expect((await eventsOf(opening(), runId)).at(-1)).toMatchObject({ kind: 'run.ended', actor, data: { status: 'cancelled', reason: 'enough' } })
      expect((await client.getRun(later)).status).toBe('running')
      const page = await client.bulkStatus(id, { limit: 3 })
      const rest = await client.bulkStatus(id, { limit: 3, cursor: page.cursor ?? '' })
      expect([...page.entries, ...rest.entries].map((entry) => entry.runId)).toEqual(ids)
      await through((await client.bulk({ verb: 'resume', runIds: ids, reason: 'not yet' })).id)
      for (const runId of ids) expect((await eventsOf(opening(), runId)).at(-1)).toMatchObject({ kind: 'run.resumed', actor, data: { reason: 'not yet' } })
      for (const runId of ids) expect((await kindsOf(runId)).filter((kind) => kind === 'run.resumed')).toHaveLength(1)
    })

    test('under one key is one, however often it is asked for; another request under the key is refused', async () => {
      const runIds = await runsOf(2)
      const idempotencyKey = newId()
      const asked = await Promise.all(Array.from({ length: 10 }, () => client.bulk({ verb: 'resume', runIds }, { idempotencyKey })))
      expect([new Set(asked.map(({ id }) => id)).size, asked.filter(({ isNew }) => isNew).length]).toEqual([1, 1])
      await through(asked[0]?.id ?? '')
      for (const runId of runIds) expect((await kindsOf(runId)).filter((kind) => kind === 'run.resumed')).toHaveLength(1)
      expect(await refused(client.bulk({ verb: 'pause', runIds }, { idempotencyKey }))).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT', details: { bulkId: asked[0]?.id } })
    })

    test.each<[string, BulkRequest, RegExp]>([
      ['no runs', { verb: 'pause' }, /runIds, or by a filter/], ['both', { verb: 'pause', runIds: [newId()], filter: { agent: 'stock' } }, /one of the two/], ['an empty list', { verb: 'pause', runIds: [] }, /1 to 1000/],
      ['an empty filter', { verb: 'cancel', filter: {} }, /every run/], ['an id that is none', { verb: 'pause', runIds: [newId(), 'x'] }, /"x" is no run/], ['another verb', { verb: 'compensate' as 'pause', runIds: [newId()] }, /pause/],
    ])('with %s is refused and leaves nothing behind', async (_, request, sentence) => {
      const count = async (): Promise<unknown> => (await ledger.query('select count(*)::integer as n from pawl.bulks'))[0]
      const before = await count()
      expect((await refused(client.bulk(request))).message).toMatch(sentence)
      expect(await count()).toEqual(before)
    })

    test('that is not there is named as such', async () => {
      for (const id of [newId(), 'nonsense']) expect((await refused(client.bulkStatus(id))).code).toBe('NOT_FOUND')
    })
  })

  describe('an export', () => {
    test('has everything of a run once, values whole, and counts it at the end', async () => {
      const { client, ledger } = opening()
      const by = await claimed(opening())
      const { runId, seq } = by
      const big = 'y'.repeat(100_000)
      await ledger.query(`update pawl.items set result = $3 where run_id = $1 and seq = $2`, [runId, seq, JSON.stringify(big)])
      await ledger.query(`insert into pawl.records (run_id, item_seq, name, value) values ($1, $2, 'seen', '"a record"')`, [runId, seq])
      await ledger.query(`insert into pawl.turns (run_id, item_seq, n, epoch, model_version, prompt_version, decision) values ($1, $2, 1, 1, 'm', 'p', '{"text":"hm"}')`, [runId, seq])
      const call = { key: 'k', tool: 'pay', toolVersion: '2', effect: 'non-idempotent', args: '{"amount":7}', argsDigest: 'd', undo: null, undoes: null, turn: null, timeoutMs: 1, settleMs: 1, keyWindowMs: null }
      await requestApproval(ledger, by, call, { digest: 'shown', irreversible: true, expiresMs: 60_000 })
      await askQuestion(ledger, by, { key: '1', text: 'How much?', answerSchema: '{}' })
      const lines: ExportLine[] = []
      for await (const line of client.exportRun(runId)) lines.push(line)
      const events = await eventsOf(opening(), runId)
      expect(lines[0]).toEqual({ kind: 'run', run: await client.getRun(runId) })
      expect(lines.filter((line) => line.kind === 'item')).toEqual([{ kind: 'item', item: expect.objectContaining({ seq, result: big }) as unknown }])
      expect(lines.filter((line) => line.kind === 'action')).toMatchObject([{ action: { key: 'k', status: 'awaiting_approval', args: { amount: 7 } } }])
      expect(lines.filter((line) => line.kind === 'approval')).toMatchObject([{ approval: { digest: 'shown', argsText: '{"amount":7}', status: 'open' } }])
      expect(lines.filter((line) => line.kind === 'event').map((line) => line.event)).toEqual(events)
      for (const [kind, row] of [['turn', { decision: { text: 'hm' } }], ['record', { name: 'seen', value: 'a record' }], ['question', { question: 'How much?', status: 'open' }]] as const) {
        expect(lines.filter((line) => line.kind === kind)).toMatchObject([{ [kind]: row }])
      }
      expect(lines.at(-1)).toEqual({ kind: 'end', counts: { run: 1, item: 1, action: 1, turn: 1, record: 1, question: 1, approval: 1, event: events.length } })
    })

    test('of 1,300 items has each once, in order; whoever stops reading is let go', async () => {
      const { client } = opening()
      const { id } = await client.startRunFromStream({ agent: 'stock' }, seeds(1_300))
      const keys: string[] = []
      for await (const line of client.exportRun(id)) if (line.kind === 'item') keys.push(line.item.key)
      expect(keys).toEqual(seeds(1_300).map(({ key }) => key))
      for await (const line of client.exportRun(id)) if (line.kind === 'item') break
      expect((await client.getRun(id)).tally.total).toBe(1_300)
    })

    test('of a run that is not there is refused', async () => {
      const lines = opening().client.exportRun(newId())
      expect((await refused((async () => { for await (const _ of lines) throw new Error('a line came') })())).code).toBe('NOT_FOUND')
    })
  })
}
