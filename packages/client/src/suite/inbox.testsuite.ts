/** Doubts and blocked items. */
import { newId } from '@pawl/core'
import { blockItem, claimItems, type Ledger } from '@pawl/ledger'
import { beforeAll, describe, expect, test } from 'vitest'
import type { PawlClient } from '../contract.ts'
import { doubtful, eventsOf, refused, seeds, type Opening } from './ground.testsuite.ts'

export function testInbox(opening: Opening): void {
  describe('the inbox', () => {
    let client: PawlClient
    let ledger: Ledger
    let actor: string
    beforeAll(() => { ({ client, ledger, actor } = opening()) })

    test('the inbox shows a doubt with what was sent; the answer frees its item and names who gave it', async () => {
      const { runId, actionId, seq } = await doubtful(opening(), 0)
      const [entry] = (await client.inbox({ runId })).entries
      expect(entry).toMatchObject({ kind: 'in_doubt', runId, itemSeq: seq, itemKey: 'a', answers: ['happened', 'did_not', 'abandon'], action: { id: actionId, args: { to: 'a' }, key: 'pay-a', attempt: 1, evidence: [] } })
      expect((await client.getRun(runId)).blockedReasons).toEqual({ in_doubt: 1 })
      expect((await refused(client.settle(runId, actionId, { answer: 'happened', attempt: 1, evidence: 0 })))).toMatchObject({ code: 'BAD_RESULT' })
      expect((await refused(client.settle(runId, actionId, { answer: 'happened', result: { receipt: 'r' }, attempt: 2, evidence: 0 }))).code).toBe('DOUBT_CHANGED')
      expect((await refused(client.settle(runId, actionId, { answer: 'happened', result: { receipt: 'r' }, attempt: 1, evidence: 1 }))).code).toBe('DOUBT_CHANGED')
      const action = await client.settle(runId, actionId, { answer: 'happened', result: { receipt: 'r-1' }, attempt: 1, evidence: 0, note: 'saw it' })
      expect(action).toMatchObject({ status: 'committed', result: { receipt: 'r-1' }, settledBy: `person:${actor}` })
      expect((await client.getItem(runId, seq)).status).toBe('pending')
      expect((await refused(client.settle(runId, actionId, { answer: 'did_not', attempt: 1, evidence: 0 }))).code).toBe('DOUBT_CHANGED')
      expect((await eventsOf(opening(), runId)).find((event) => event.kind === 'action.answered')).toMatchObject({ actor, itemSeq: seq, data: { answer: 'happened', note: 'saw it' } })
      expect((await client.inbox({ runId })).entries).toEqual([])
    })

    test('"it did not happen" is refused while a late send could still follow', async () => {
      const { runId, actionId } = await doubtful(opening(), 60_000)
      expect((await client.inbox({ runId })).entries[0]).toMatchObject({ answers: ['happened'] })
      expect(await refused(client.settle(runId, actionId, { answer: 'did_not', attempt: 1, evidence: 0 }))).toMatchObject({ code: 'TOO_EARLY', details: { answerableAt: expect.any(String) as string } })
      expect((await client.settle(runId, actionId, { answer: 'happened', result: { receipt: 'r' }, attempt: 1, evidence: 0 })).status).toBe('committed')
    })

    test('a blocked item is shown with its verbs, resumed or failed, and refused when it is not blocked', async () => {
      const { id: runId } = await client.startRun('stock', null, { items: seeds(2) })
      const items = (await client.listItems(runId)).entries
      for (const { seq } of items) {
        const [claim] = await claimItems(ledger, [{ runId, seq, generation: null }], { workerId: newId(), nonce: newId(), leaseMs: 60_000, alone: false })
        await blockItem(ledger, { runId, seq, epoch: claim?.item?.epoch ?? -1 }, 'diverged', { tool: 'pay' })
      }
      const page = await client.inbox({ runId, limit: 1 })
      expect(page.entries).toMatchObject([{ kind: 'blocked', reason: 'diverged', verbs: ['resume', 'fail'], detail: { tool: 'pay' } }])
      expect((await client.inbox({ runId, limit: 1, cursor: page.cursor ?? '' })).entries).toHaveLength(1)
      const [first = -1, second = -1] = items.map((item) => item.seq)
      expect(await client.releaseItem(runId, first, 'resume', { newCalls: true })).toMatchObject({ seq: first, status: 'pending' })
      expect(await client.releaseItem(runId, second, 'fail', { note: 'no use' })).toMatchObject({ status: 'failed', error: { message: 'no use' } })
      expect(await refused(client.releaseItem(runId, second, 'resume'))).toMatchObject({ code: 'WRONG_STATE', message: expect.stringContaining('failed') as string })
    })

    test('an answer about a blocked item is about what was shown: one that went on and is blocked anew is left alone, for the same reason too', async () => {
      const { id: runId } = await client.startRun('stock', null, { items: seeds(1) })
      const seq = (await client.listItems(runId)).entries[0]?.seq ?? -1
      const block = async (reason: 'diverged' | 'conflict') => {
        const [claim] = await claimItems(ledger, [{ runId, seq, generation: null }], { workerId: newId(), nonce: newId(), leaseMs: 60_000, alone: false })
        expect(await blockItem(ledger, { runId, seq, epoch: claim?.item?.epoch ?? -1 }, reason, { tool: 'pay' })).toBe('blocked')
        const [entry] = (await client.inbox({ runId })).entries
        return entry?.kind === 'blocked' ? { reason: entry.reason, attempts: entry.attempts } : undefined
      }
      const shown = await block('diverged')
      expect(shown).toEqual({ reason: 'diverged', attempts: 1 })
      expect(await client.releaseItem(runId, seq, 'resume', { shown, newCalls: true })).toMatchObject({ status: 'pending' })
      // The answer was lost: asked again, it is about an item that goes on.
      expect(await refused(client.releaseItem(runId, seq, 'resume', { shown, newCalls: true }))).toMatchObject({ code: 'BLOCK_CHANGED', message: expect.stringContaining('pending') as string })
      await block('diverged')
      expect(await refused(client.releaseItem(runId, seq, 'fail', { shown }))).toMatchObject({ code: 'BLOCK_CHANGED', details: { reason: 'diverged', attempts: 2 } })
      expect(await refused(client.releaseItem(runId, seq, 'fail', { shown: { reason: 'conflict', attempts: 2 } }))).toMatchObject({ code: 'BLOCK_CHANGED' })
      expect(await client.getItem(runId, seq)).toMatchObject({ status: 'blocked' })
      expect(await client.releaseItem(runId, seq, 'fail', { shown: { reason: 'diverged', attempts: 2 } })).toMatchObject({ status: 'failed' })
    })
  })
}
