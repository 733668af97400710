/** Calls that need a yes. */
import { blockItem, requestApproval, type Ledger } from '@pawl/ledger'
import { beforeAll, describe, expect, test } from 'vitest'
import type { PawlClient } from '../contract.ts'
import { claimed, eventsOf, refused, type Opening } from './ground.testsuite.ts'

export function testApprovals(opening: Opening): void {
  describe('approvals', () => {
    let client: PawlClient
    let ledger: Ledger
    let actor: string
    beforeAll(() => { ({ client, ledger, actor } = opening()) })

    /** An item that waits for a yes to each of these calls. */
    async function wanting(keys: readonly string[], policy?: { approval: { notByRequester: boolean } }, args = '{"amount":5810142810638157171,"to":"ann"}'): Promise<{ runId: string; seq: number; calls: { actionId: number; digest: string }[] }> {
      const by = await claimed(opening(), policy)
      const { runId, seq } = by
      const approvals: number[] = []
      for (const key of keys) {
        const call = { key, tool: 'pay', toolVersion: '2', effect: 'non-idempotent', args, argsDigest: `args of ${key}`, undo: null, undoes: null, turn: null, timeoutMs: 1, settleMs: 1, keyWindowMs: null }
        approvals.push((await requestApproval(ledger, by, call, { digest: `shown ${key}`, irreversible: true, expiresMs: 60_000 })).approval?.id ?? -1)
      }
      expect(await blockItem(ledger, by, 'approval', { approvals })).toBe('blocked')
      const calls = (await client.inbox({ runId })).entries.flatMap((entry) => (entry.kind === 'approval' ? [{ actionId: entry.approval.actionId, digest: entry.approval.digest }] : []))
      return { runId, seq, calls }
    }

    test('the inbox shows a call that needs a yes to the letter; the yes frees its item and names who gave it', async () => {
      const { runId, seq, calls: [call] } = await wanting(['k'])
      expect((await client.inbox({ runId })).entries).toMatchObject([{ kind: 'approval', runId, itemSeq: seq, itemKey: 'item-0', attempts: 1, approval: {
        tool: 'pay', toolVersion: '2', key: 'k', digest: 'shown k', argsText: '{"amount":5810142810638157171,"to":"ann"}', irreversible: true, isStaged: false, sends: 0, status: 'open', expiresAt: expect.any(Date) as Date,
      } }])
      expect(await refused(client.approve(runId, { actionId: call!.actionId, digest: 'another' }))).toMatchObject({ code: 'APPROVAL_CHANGED' })
      expect(await client.approve(runId, call!, { note: 'fine' })).toMatchObject({ outcome: 'approved', status: 'approved', decidedBy: actor, decidedAt: expect.any(Date) as Date, note: 'fine' })
      expect((await client.getItem(runId, seq)).status).toBe('pending')
      expect((await client.inbox({ runId })).entries).toEqual([])
      expect((await eventsOf(opening(), runId)).find((event) => event.kind === 'approval.approved')).toMatchObject({ actor, itemSeq: seq, data: { action: call!.actionId, note: 'fine' } })
    })

    test('arguments that lists leave out for their size are whole in the inbox: nobody says yes to what was not shown', async () => {
      const text = JSON.stringify({ body: 'z'.repeat(200_000) })
      const { runId, seq } = await wanting(['k'], undefined, text)
      expect((await client.inbox({ runId })).entries).toMatchObject([{ approval: { argsText: text, args: { body: 'z'.repeat(200_000) } } }])
      expect((await client.listActions(runId, { itemSeq: seq })).entries).toMatchObject([{ args: { $pawl: 'omitted', bytes: text.length } }])
    })

    test('a call is decided once: of 20 at the same time one decides, and every loser is told who was first and when (case 70)', async () => {
      const { runId, calls: [call] } = await wanting(['k'])
      const answers = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => (i % 2 ? client.reject(runId, call!) : client.approve(runId, call!))))
      expect(answers.filter((one) => one.status === 'fulfilled')).toHaveLength(1)
      for (const one of answers) if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'APPROVAL_DECIDED', details: { decidedBy: actor, decidedAt: expect.any(String) as string } })
    })

    test('many are decided at once, each as it was shown; one that came since, or was shown otherwise, is left alone', async () => {
      const { runId, calls } = await wanting(['a', 'b', 'c', 'since'])
      const [a, b, c] = calls
      expect((await client.decideApprovals(runId, { approve: [a!, a!], reject: [b!, { ...c!, digest: 'old' }], note: 'all read' })).map((one) => [one.actionId, one.outcome]))
        .toEqual([[a!.actionId, 'approved'], [b!.actionId, 'rejected'], [c!.actionId, 'changed']])
      expect((await client.inbox({ runId })).entries).toHaveLength(2)
      expect((await client.approve(runId, [c!])).map((one) => one.outcome)).toEqual(['approved'])
    })

    test('a yes and a no to one call, or no call at all, refuse the whole; an unknown one is named', async () => {
      const { runId, calls: [a, b] } = await wanting(['a', 'b'])
      expect(await refused(client.decideApprovals(runId, { approve: [a!, b!], reject: [a!] }))).toMatchObject({ code: 'BAD_DECISION' })
      expect(await refused(client.decideApprovals(runId, {}))).toMatchObject({ code: 'BAD_DECISION' })
      expect((await client.inbox({ runId })).entries).toHaveLength(2)
      expect(await refused(client.approve(runId, { actionId: 999_999, digest: 'x' }))).toMatchObject({ code: 'NOT_FOUND' })
    })

    test('where the policy wants another person, who started the run may say no only; a stopped run takes no answer', async () => {
      const { runId, calls: [a, b, c] } = await wanting(['a', 'b', 'c'], { approval: { notByRequester: true } })
      expect(await refused(client.approve(runId, a!))).toMatchObject({ code: 'APPROVER_IS_REQUESTER' })
      expect(await client.reject(runId, b!)).toMatchObject({ outcome: 'rejected' })
      await client.cancel(runId)
      expect(await refused(client.reject(runId, c!))).toMatchObject({ code: 'WRONG_STATE' })
    })
  })
}
