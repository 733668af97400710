/** Counts, pictures and groups over runs, and the fleet. */
import { limits, newId } from '@pawl/core'
import { beat, blockItem, claimItems, type Ledger } from '@pawl/ledger'
import { beforeAll, describe, expect, test } from 'vitest'
import type { PawlClient } from '../contract.ts'
import { claimed, doubtful, refused, seeds, type Opening } from './ground.testsuite.ts'

export function testLooks(opening: Opening): void {
  describe('looks from above', () => {
    let client: PawlClient
    let ledger: Ledger
    beforeAll(() => { ({ client, ledger } = opening()) })

    const set = (runId: string, seq: number, status: string, more: { reason?: string; error?: object; detail?: object; finishedAgo?: string } = {}) =>
      ledger.query(`update pawl.items set status = $3, blocked_reason = $4, error = $5, blocked_detail = $6, finished_at = clock_timestamp() - $7::text::interval where run_id = $1 and seq = $2`,
        [runId, seq, status, more.reason ?? null, more.error === undefined ? null : JSON.stringify(more.error), more.detail === undefined ? null : JSON.stringify(more.detail), more.finishedAgo ?? null])

    /** A run of `n` items, and their seqs. */
    async function runOf(n: number): Promise<{ id: string; seqs: number[] }> {
      const { id } = await client.startRun('stock', null, { items: seeds(n) })
      return { id, seqs: (await client.listItems(id, { limit: 1_000 })).entries.map((item) => item.seq) }
    }

    test('runs are found by several statuses, by time, by the beginning of their id, by a label and by its value, and by their key', async () => {
      const mark = newId()
      const idempotencyKey = `order ${mark}`
      const { id: one } = await client.startRun('stock', 1, { items: [], labels: { mark, team: 'red: or "blue"' }, idempotencyKey })
      const { id: two } = await client.startRun('stock', 2, { items: seeds(1), labels: { mark } })
      await client.cancel(two)
      const found = async (filter: Parameters<PawlClient['listRuns']>[0]): Promise<string[]> => (await client.listRuns(filter)).entries.map((run) => run.id)
      expect(await found({ labels: { mark } })).toEqual([two, one])
      expect(await found({ labels: { mark }, status: ['cancelled', 'failed'] })).toEqual([two])
      expect(await found({ labels: { mark }, status: ['cancelled', 'finalizing', 'running'] })).toEqual([two, one])
      expect(await found({ search: mark })).toEqual([two, one])
      expect(await found({ search: 'red: or "blue"', labels: { mark } })).toEqual([one])
      expect(await found({ search: idempotencyKey })).toEqual([one])
      for (const length of [4, 8, 9, 20, 36]) expect(await found({ search: one.slice(0, length), labels: { mark } })).toContain(one)
      for (const nothing of ['x', one.slice(0, 3), `${one}0`, mark.slice(1), 'zzzz', '%', 'a\u0000b']) expect(await found({ search: nothing, labels: { mark } })).toEqual([])
      expect(await found({ labels: { mark, 'a\u0000': '\ud800' } })).toEqual([])
      const { createdAt } = await client.getRun(two)
      expect(await found({ labels: { mark }, createdAfter: createdAt })).toContain(two)
      expect(await found({ labels: { mark }, createdBefore: createdAt })).not.toContain(two)
      await client.pause(one)
      expect(await found({ labels: { mark }, paused: true })).toEqual([one])
    })

    test('runs are counted by status under the same filter, and what waits for people with them', async () => {
      const mark = newId()
      for (let i = 0; i < 3; i++) await client.startRun('stock', i, { items: seeds(1), labels: { mark } })
      const { id } = await client.startRun('stock', 4, { items: seeds(1), labels: { mark } })
      await client.cancel(id)
      const before = await client.countRuns({ labels: { mark } })
      expect(before.byStatus).toEqual({ running: 3, cancelled: 1 })
      expect((await client.countRuns({ search: id })).byStatus).toEqual({ cancelled: 1 })
      await doubtful(opening(), 0)
      expect((await client.countRuns({ labels: { mark } })).waiting).toBe(before.waiting + 1)
      let inbox = 0
      for (let cursor: string | undefined; ;) {
        const page = await client.inbox({ cursor, limit: 1_000 })
        inbox += page.entries.length
        if (page.cursor === null) break
        cursor = page.cursor
      }
      expect((await client.countRuns()).waiting).toBe(inbox)
    })

    test('squares show every work item once, in order, with the seqs they stand for', async () => {
      const { id, seqs } = await runOf(12)
      const [a = -1, b = -1, c = -1, d = -1, e = -1, f = -1] = seqs
      for (const [seq, status] of [[a, 'done'], [b, 'done'], [c, 'failed'], [d, 'in_progress'], [e, 'compensated']] as const) await set(id, seq, status)
      await set(id, f, 'blocked', { reason: 'diverged' })
      await ledger.query(`insert into pawl.items (run_id, seq, kind, key, payload, status) values ($1, 900, 'settle', 's', 'null', 'done'), ($1, 901, 'work', 'late', 'null', 'cancelled')`, [id])
      expect(await client.squares(id)).toEqual({ runId: id, at: expect.any(Date) as Date, total: 13, states: '2d1f1a1u1b6p1c', seqs: [[a, 12], [901, 1]] })
      const { id: empty } = await client.startRun('stock', null, { items: [] })
      expect(await client.squares(empty)).toMatchObject({ total: 0, states: '', seqs: [] })
    })

    test('failures that differ in numbers and ids only are one group, with the first of them named', async () => {
      const { id, seqs } = await runOf(9)
      for (const [i, seq] of seqs.slice(0, 7).entries()) await set(id, seq, 'failed', { error: { name: 'ToolFailed', message: `no stock of part ${i * 11} in order ${newId()}` } })
      await set(id, seqs[7] ?? -1, 'failed', { error: { name: 'TypeError', message: 'x is undefined' } })
      await set(id, seqs[8] ?? -1, 'blocked', { reason: 'crash_loop', detail: { barrenAttempts: 5 } })
      expect((await client.failures(id)).groups).toEqual([
        { status: 'failed', reason: 'ToolFailed', message: 'no stock of part # in order #', count: 7, seqs: seqs.slice(0, 5) },
        { status: 'failed', reason: 'TypeError', message: 'x is undefined', count: 1, seqs: [seqs[7]] },
        { status: 'blocked', reason: 'crash_loop', message: '', count: 1, seqs: [seqs[8]] },
      ])
    })

    test('the pace counts what was done by the minute and says when the rest would be, as long as something moves', async () => {
      const { id, seqs } = await runOf(8)
      expect(await client.pace(id)).toMatchObject({ etaMs: null })
      await ledger.query(`update pawl.runs set started_at = clock_timestamp() - interval '10 minutes' where id = $1`, [id])
      for (const seq of seqs.slice(0, 4)) await set(id, seq, 'done', { finishedAgo: '90 seconds' })
      const { perMinute, etaMs } = await client.pace(id, { minutes: 5 })
      expect(perMinute).toHaveLength(5)
      expect(perMinute.reduce((sum, minute) => sum + minute.done, 0)).toBe(4)
      expect(perMinute.at(-1)?.done).toBe(0)
      // Four in the last five minutes, four to go.
      expect(etaMs).toBe(300_000)
      await client.pause(id)
      expect((await client.pace(id)).etaMs).toBeNull()
      expect(await refused(client.pace(id, { minutes: 0 }))).toMatchObject({ code: 'BAD_MINUTES' })
    })

    test('an item’s attempts name the worker, the pins and what became of each', async () => {
      const { runId, seq, epoch } = await claimed(opening())
      expect((await client.attempts(runId, seq)).entries).toMatchObject([{ epoch, workerId: expect.any(String) as string, startedAt: expect.any(Date) as Date, agentVersion: '1', ended: null }])
      // Its holder is gone; another takes the item over, and hands it back.
      await ledger.query(`update pawl.items set lease_until = clock_timestamp() - interval '1 second' where run_id = $1 and seq = $2`, [runId, seq])
      await claimItems(ledger, [{ runId, seq, generation: null }], { workerId: newId(), nonce: newId(), leaseMs: limits.leaseMs, alone: true })
      expect((await client.attempts(runId, seq)).entries).toMatchObject([{ ended: 'lost its lease' }, { epoch: epoch + 1, ended: null }])
      await set(runId, seq, 'pending')
      await claimItems(ledger, [{ runId, seq, generation: null }], { workerId: newId(), nonce: newId(), leaseMs: limits.leaseMs, alone: true })
      await blockItem(ledger, { runId, seq, epoch: epoch + 2 }, 'diverged', { tool: 'pay' })
      expect((await client.attempts(runId, seq)).entries).toMatchObject([{ ended: 'lost its lease' }, { ended: 'handed back' }, { ended: 'blocked: diverged' }])
      await client.releaseItem(runId, seq, 'resume', { newCalls: true })
      await claimItems(ledger, [{ runId, seq, generation: null }], { workerId: newId(), nonce: newId(), leaseMs: limits.leaseMs, alone: true })
      await set(runId, seq, 'done')
      expect((await client.attempts(runId, seq)).entries.map((attempt) => attempt.ended)).toEqual(['lost its lease', 'handed back', 'blocked: diverged', 'done'])
    })

    test('what a run’s models took is counted over all its items', async () => {
      const { id, seqs: [a = -1, b = -1] } = await runOf(2)
      expect(await client.spent(id)).toEqual({ turns: 0, tokens: 0, costMicros: 0 })
      for (const seq of [a, b]) await ledger.query(`insert into pawl.turns (run_id, item_seq, n, epoch, model_version, prompt_version, decision, input_tokens, output_tokens, cost_micros) values ($1, $2, 1, 1, 'm', 'p', '{}', 10, 20, 30)`, [id, seq])
      await ledger.query(`update pawl.items set tokens_used = 30, cost_micros = 30 where run_id = $1`, [id])
      expect(await client.spent(id)).toEqual({ turns: 2, tokens: 60, costMicros: 60 })
    })

    test('an item’s turns hold what the model decided, and what it cost', async () => {
      const { id, seqs: [seq = -1] } = await runOf(1)
      const decision = { text: 'I write.', finishReason: 'stop', calls: [], when: { $encoded: 'mine' } }
      await ledger.query(`insert into pawl.turns (run_id, item_seq, n, epoch, model_version, prompt_version, decision, input_tokens, output_tokens, cost_micros) values ($1, $2, 1, 1, 'm', 'p', $3, 10, 20, 30)`, [id, seq, JSON.stringify(decision)])
      expect((await client.turns(id, seq)).entries).toEqual([{ n: 1, epoch: 1, modelVersion: 'm', promptVersion: 'p', decision, inputTokens: 10, outputTokens: 20, costMicros: 30, at: expect.any(Date) as Date }])
    })

    test('the fleet shows who works and holds what, what waits, and what nobody serves', async () => {
      const worker = { id: newId(), name: 'w', host: 'here', bootId: null, pidNamespace: null, pid: 7, pidStartedAt: null }
      await beat(ledger, worker, ['stock@1'])
      const { runId, seq } = await claimed(opening())
      await ledger.query('update pawl.items set worker_id = $3 where run_id = $1 and seq = $2', [runId, seq, worker.id])
      const { id } = await client.startRun('stock', null, { items: seeds(2) })
      await client.repin(id, { to: 'nobody-has-it', force: true })
      const fleet = await client.fleet()
      expect(fleet.workers.find(({ id: each }) => each === worker.id)).toMatchObject({ host: 'here', pid: 7, serves: ['stock@1'], leases: 1, isLive: true, build: expect.stringMatching(/^[0-9a-f]{8}$/) as string })
      expect(fleet.drift.unserved).toContainEqual({ agent: 'stock', version: 'nobody-has-it', items: 2 })
      expect(fleet.backlog.due).toBeGreaterThanOrEqual(2)
      expect(fleet.backlog.oldestDueMs).toBeGreaterThanOrEqual(0)
      await ledger.query('delete from pawl.workers where id = $1', [worker.id])
    })

    test('tools say what each does to the world, by the agents that have them', async () => {
      const { agents } = await client.tools()
      expect(agents.find(({ agent }) => agent === 'mailing')).toMatchObject({ version: '1', tools: [{
        name: 'pay', version: '1', effect: 'non-idempotent', key: 'by place', verify: false, undo: null, irreversible: false, approval: 'never', stage: false, timeoutMs: 30_000, settleWindowMs: 30_000, keyWindowMs: null,
      }] })
    })

    test('of a run or an item that is not there nothing is shown', async () => {
      const id = newId()
      const of = (error: { code: string }): string => error.code
      expect((await Promise.all([client.squares(id), client.failures(id), client.pace(id), client.spent(id), client.attempts(id, 1), client.turns(id, 1)].map(refused))).map(of)).toEqual(Array.from({ length: 6 }, () => 'NOT_FOUND'))
      const { id: known } = await runOf(1)
      expect((await Promise.all([client.attempts(known, 99), client.turns(known, 99)].map(refused))).map(of)).toEqual(['NOT_FOUND', 'NOT_FOUND'])
    })
  })
}
