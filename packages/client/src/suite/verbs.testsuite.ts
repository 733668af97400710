/** What is done to a run, and watching it. */
import { newId } from '@pawl/core'
import { pinsOf } from '@pawl/tools'
import { beforeAll, describe, expect, test } from 'vitest'
import type { PawlClient } from '../contract.ts'
import { doubtful, eventsOf, mailing, refused, seeds, stock, type Opening } from './ground.testsuite.ts'

export function testVerbs(opening: Opening): void {
  describe('what is done to a run', () => {
    let client: PawlClient
    let actor: string
    beforeAll(() => { ({ client, actor } = opening()) })

    const startOf = async (n: number): Promise<string> => (await client.startRun('stock', null, { items: seeds(n) })).id

    test('a run is pinned at its start to what its agent is made of, and repin moves it on purpose: refused to a version nobody has, told beforehand, kept as an event', async () => {
      const id = await startOf(2)
      expect(await client.getRun(id)).toMatchObject({ agentVersion: '1', modelVersion: null, promptVersion: null, schemaVersion: 1, lockDigest: pinsOf(stock).lockDigest })
      expect(await refused(client.repin(id, { to: '7' }))).toMatchObject({ code: 'UNKNOWN_VERSION' })
      expect(await refused(client.repin(id, { to: 'no version' }))).toMatchObject({ code: 'BAD_VERSION' })
      expect(await refused(client.repin(newId(), { to: '7' }))).toMatchObject({ code: 'NOT_FOUND' })
      expect(await client.repin(id, { to: '7', dryRun: true })).toMatchObject({ dryRun: true, isAllowed: false, workers: 0, live: 2, from: { version: '1' }, to: { version: '7' } })
      expect(await client.repin(id, { to: '1', dryRun: true })).toMatchObject({ isAllowed: true, isConfigured: true, unserved: [], changedTools: [] })
      expect(await client.repin(id, { to: '7', force: true, reason: 'moving house' })).toMatchObject({ dryRun: false, from: { version: '1' }, to: { version: '7', model: null }, moved: 2 })
      expect((await client.getRun(id)).agentVersion).toBe('7')
      expect((await eventsOf(opening(), id)).find((event) => event.kind === 'run.repinned')).toMatchObject({ actor, data: { from: { version: '1' }, to: { version: '7' }, reason: 'moving house', moved: 2 } })
    })

    test('pause, resume and cancel change the run, name the actor, and are refused in the wrong state', async () => {
      const id = await startOf(2)
      expect(await client.pause(id, { reason: 'lunch' })).toMatchObject({ dryRun: false, runId: id })
      expect((await client.getRun(id)).paused).toBe(true)
      expect(await client.resume(id, { reason: 'fed' })).toMatchObject({ dryRun: false, reopened: 0 })
      expect((await client.getRun(id)).paused).toBe(false)
      expect(await client.cancel(id, { reason: 'enough' })).toMatchObject({ status: 'cancelled', unsettled: 0 })
      expect(await refused(client.pause(id))).toMatchObject({ code: 'WRONG_STATE', message: expect.stringContaining('cancelled') as string, details: { state: 'cancelled' } })
      expect((await refused(client.cancel(id))).code).toBe('WRONG_STATE')
      const events = await eventsOf(opening(), id)
      expect(events.map((event) => event.kind)).toEqual(['run.created', 'run.sealed', 'run.paused', 'run.resumed', 'run.ended'])
      expect(events.filter((event) => event.kind !== 'run.sealed').every((event) => event.actor === actor)).toBe(true)
      expect(events.slice(2).map((event) => (event.data as { reason?: string }).reason)).toEqual(['lunch', 'fed', 'enough'])
      expect(await client.listEvents(id, { after: events[2]?.id ?? 0 })).toEqual(events.slice(3))
      expect(await client.resume(id)).toMatchObject({ reopened: 2, status: 'running' })
    })

    test('a budget is given with the start and changed later, member by member, by name; one that is none is refused', async () => {
      const { id } = await client.startRun('stock', 1, { items: [{ key: 'a', payload: { sku: 'a' } }], policy: { budget: { tokens: 1_000 } } })
      expect(await client.setBudget(id, { run: { turns: 9 }, item: { cost: 1.5 }, note: 'longer' })).toMatchObject({ dryRun: false, runId: id })
      expect((await client.getRun(id)).policy).toMatchObject({ budget: { tokens: 1_000, turns: 9 }, itemBudget: { cost: 1.5 } })
      expect((await eventsOf(opening(), id)).at(-1)).toMatchObject({ kind: 'run.budget', actor, data: { budget: { turns: 9 }, itemBudget: { cost: 1.5 }, note: 'longer' } })
      for (const wrong of [{}, { run: {} }, { run: { tokens: 0 } }, { item: { token: 5 } as object }]) expect((await refused(client.setBudget(id, wrong))).message).toMatch(/budget|run|item/)
      expect((await refused(client.setBudget(newId(), { run: { turns: 1 } }))).code).toBe('NOT_FOUND')
    })

    test('a dry run says what would happen and changes nothing', async () => {
      const { runId, actionId, seq } = await doubtful(opening(), 0)
      const before = [await client.getRun(runId), await eventsOf(opening(), runId)]
      const [resume, cancel, compensate] = await Promise.all([client.resume(runId, { dryRun: true }), client.cancel(runId, { dryRun: true }), client.compensate(runId, { dryRun: true })])
      for (const preview of [resume, cancel, compensate]) {
        expect(preview).toMatchObject({ dryRun: true, isAllowed: true, asked: [{ action: actionId, itemSeq: seq, tool: 'pay' }], calledAgain: [], verified: [] })
      }
      expect(cancel).toMatchObject({ items: { stopped: 1, again: 0 } })
      expect([await client.getRun(runId), await eventsOf(opening(), runId)]).toEqual(before)
    })

    test('a look at the resume of a run that was cancelled while it was split counts what the resume then sends round', async () => {
      // Where a producer serves splits it may be through already, and both are of its items; where none does it is the split alone.
      const { id } = await client.startRun(mailing, { recipients: ['a', 'b'] })
      await client.cancel(id)
      const look = await client.resume(id, { dryRun: true })
      const again = look.dryRun ? look.items.again : 0
      expect(again).toBeGreaterThan(0)
      expect(await client.resume(id)).toMatchObject({ dryRun: false, reopened: again })
    })

    test('watch ends where only a person can go on, and where the run has ended', async () => {
      const { runId } = await doubtful(opening(), 0)
      const seen = []
      for await (const progress of client.watch(runId, { everyMs: 20 })) seen.push(progress)
      expect(seen).toMatchObject([{ status: 'running', blocked: 1, total: 1, blockedReasons: { in_doubt: 1 } }])
      const live = await startOf(3)
      const statuses: string[] = []
      for await (const progress of client.watch(live, { everyMs: 20 })) {
        statuses.push(progress.status)
        if (progress.status === 'running') await client.cancel(live)
      }
      expect(statuses).toEqual(['running', 'cancelled'])
    })
  })
}
