/** Approvals and staged calls, by what receivers saw: nothing is sent without a yes to exactly that call, and a crash anywhere around it changes nothing. */
import { createHash } from 'node:crypto'
import { newRunId, Rejected } from '@pawl/core'
import { cancelRun, decideApprovals, resumeRun, startCompensation, wakeItems, type ActionRow } from '@pawl/ledger'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { auditLedger } from '../../ledger/src/audit/audit-ledger.ts'
import type { FailpointName } from './failpoint.ts'
import { Scripts, type Script } from './scripted.testsuite.ts'
import { effectTool, until, World, type EffectTool, type ToolClass } from './world.testsuite.ts'

vi.setConfig({ testTimeout: 90_000 })

describe.concurrent('a call that needs a yes', () => {
  let world: World
  type Tools = Record<ToolClass, EffectTool> & Record<'asked' | 'askedOpaque' | 'askedBig' | 'late', EffectTool>
  let scripts: Scripts<Tools>
  let policyAsks = true

  beforeAll(async () => {
    world = await World.open((tools, effects) => {
      scripts = new Scripts<Tools>({
        ...tools,
        asked: effectTool(effects, { name: 'asked', via: 'keyed', effect: 'idempotent', concurrent: true, irreversible: true, approval: 'always' }),
        askedOpaque: effectTool(effects, { name: 'asked-opaque', via: 'opaque', effect: 'non-idempotent', approval: 'always' }),
        askedBig: effectTool(effects, { name: 'asked-big', via: 'keyed', effect: 'idempotent', concurrent: true, approval: (input) => {
          if (input.subject.includes('throws')) throw new Error('no idea')
          return policyAsks && input.subject.includes('big')
        } }),
        late: effectTool(effects, { name: 'late', via: 'keyed', effect: 'idempotent', concurrent: true, key: ({ subject }) => [subject], stage: true, approval: (input) => input.subject.includes('ask') }),
      })
      return [scripts.agent]
    })
  })
  afterAll(() => world.close())

  const open = async (runId: string) => await world.rows<{ id: number; digest: string; subject: string }>(`select a.id::int, p.digest, a.args::json ->> 'subject' as subject
    from pawl.approvals p join pawl.actions a on a.run_id = p.run_id and a.id = p.action_id where p.run_id = $1 and p.status = 'open' order by a.id`, [runId])
  async function asked(runId: string, n = 1) {
    let found: Awaited<ReturnType<typeof open>> = []
    await until(`${n} approvals of ${runId} are open`, async () => (found = await open(runId)).length === n)
    return found
  }
  async function say(runId: string, verdict: 'approved' | 'rejected', ...calls: { id: number; digest: string }[]): Promise<void> {
    const answers = await decideApprovals(world.workers.ledger, runId, calls.map(({ id, digest }) => ({ actionId: id, digest, verdict })), { actor: 'ann', note: 'my word' })
    expect(answers.map((one) => one.outcome)).toEqual(calls.map(() => verdict))
    await wakeItems(world.workers.ledger, runId)
    world.workers.touch(runId)
  }
  async function sound(runId: string, status = 'completed'): Promise<void> {
    expect(await world.workers.runIs(runId)).toMatchObject({ status })
    expect((await auditLedger(world.workers.ledger, { runId })).violations).toEqual([])
  }
  const receipts = (subject: string): number => world.effects.receipts({ subject }).length
  const ofTool = async (runId: string, tool: string): Promise<ActionRow[]> => (await world.actions(runId)).filter((one) => one.tool === tool)

  test('is not sent before it, gives its worker back, and is sent once after it', async () => {
    const id = newRunId()
    await scripts.start(world, { run: async ({ tools }) => ({ result: (await tools.asked({ subject: 'plain' })).ref }) }, { id })
    const blocked = await world.blocked(id, 'approval')
    await world.workers.quiet(id)
    expect(blocked).toMatchObject({ failures: 0, barren_attempts: 0 })
    expect(receipts('plain')).toBe(0)
    await say(id, 'approved', ...(await asked(id)))
    await sound(id)
    expect(receipts('plain')).toBe(1)
  })

  const points: readonly { at: FailpointName; after: 'before' | 'after'; isAnswered?: boolean }[] = [
    { at: 'before-request', after: 'before' }, { at: 'after-request', after: 'before' }, { at: 'after-claim', after: 'after' },
    { at: 'after-intent', after: 'after', isAnswered: true }, { at: 'after-answer', after: 'after', isAnswered: true }, { at: 'before-finish', after: 'after' },
  ]
  for (const tool of ['asked', 'askedOpaque'] as const) {
    for (const { at, after, isAnswered } of points) {
      test(`a worker that dies ${at} asks once and sends once (${tool})`, async () => {
        const id = newRunId()
        const subject = `${tool} ${at}`
        if (after === 'before') {
          const fault = world.workers.fault({ runId: id, at, does: 'freeze', seq: 1 })
          await scripts.start(world, { run: async ({ tools }) => { await tools[tool]({ subject }) } }, { id })
          await fault.struck
        } else await scripts.start(world, { run: async ({ tools }) => { await tools[tool]({ subject }) } }, { id })
        await world.blocked(id, 'approval')
        const fault = after === 'after' ? world.workers.fault({ runId: id, at, does: 'freeze', seq: 1 }) : undefined
        await say(id, 'approved', ...(await asked(id)))
        await fault?.struck
        if (isAnswered && tool === 'askedOpaque') await world.answer(id, at === 'after-answer' ? 'happened' : 'did_not', '{"ref":"said"}')
        await sound(id)
        expect(world.effects.effects({ subject })).toBe(1)
        expect(await world.rows('select status from pawl.approvals where run_id = $1', [id])).toEqual([{ status: 'approved' }])
      })
    }
  }

  test('approve A, then the agent changes one byte: B is not sent, and is asked for anew', async () => {
    const id = newRunId()
    let subject = 'A10'
    await scripts.start(world, { run: async ({ tools }) => { await tools.asked({ subject }) } }, { id })
    const page = await asked(id)
    await world.blocked(id, 'approval')
    subject = 'A11'
    await say(id, 'approved', ...page)
    await until('the other call is asked for', async () => (await open(id))[0]?.subject === 'A11')
    await world.blocked(id, 'approval')
    expect([receipts('A10'), receipts('A11')]).toEqual([0, 0])
    expect((await ofTool(id, 'asked')).map((one) => one.status)).toEqual(['discarded', 'awaiting_approval'])
    await say(id, 'approved', ...(await asked(id)))
    await sound(id)
    expect([receipts('A10'), receipts('A11')]).toEqual([0, 1])
  })

  test('of 20 people who say yes to one call at the same moment one decides, and it is sent once although its worker dies in mid-call', async () => {
    const id = newRunId()
    await scripts.start(world, { run: async ({ tools }) => { await tools.asked({ subject: 'twenty' }) } }, { id })
    const [call] = await asked(id)
    await world.blocked(id, 'approval')
    const fault = world.workers.fault({ runId: id, at: 'after-answer', does: 'freeze', seq: 1 })
    const answers = await Promise.all(Array.from({ length: 20 }, async (_, n) => {
      const [answer] = await decideApprovals(world.workers.ledger, id, [{ actionId: call!.id, digest: call!.digest, verdict: 'approved' }], { actor: `person-${n}`, note: null })
      await wakeItems(world.workers.ledger, id)
      world.workers.touch(id)
      return answer
    }))
    const first = answers.findIndex((answer) => answer?.outcome === 'approved')
    expect(answers.map((answer) => answer?.outcome).toSorted()).toEqual(['approved', ...Array.from({ length: 19 }, () => 'decided')])
    expect(new Set(answers.map((answer) => answer?.approval?.decided_by))).toEqual(new Set([`person-${first}`]))
    await fault.struck
    await sound(id)
    expect(world.effects.effects({ subject: 'twenty' })).toBe(1)
    expect(await world.rows('select actor from pawl.events where run_id = $1 and kind = $2', [id, 'approval.approved'])).toEqual([{ actor: `person-${first}` }])
  })

  test('a no is thrown as Rejected, in the same words on every attempt; other arguments are another call', async () => {
    const id = newRunId()
    const seen: string[] = []
    const fault = world.workers.fault({ runId: id, at: 'before-finish', seq: 1, does: 'freeze' })
    await scripts.start(world, { async run({ tools }) {
      try {
        await tools.asked({ subject: 'no way' }, { key: 'it' })
      } catch (error) {
        expect(error).toBeInstanceOf(Rejected)
        seen.push(String((error as Error).stack))
        await tools.asked({ subject: 'that way' }, { key: 'it' })
      }
    } }, { id })
    await world.blocked(id, 'approval')
    await say(id, 'rejected', ...(await asked(id)))
    await until('the other way is asked for', async () => (await open(id))[0]?.subject === 'that way')
    await world.blocked(id, 'approval')
    await say(id, 'approved', ...(await asked(id)))
    await fault.struck
    await sound(id)
    expect(new Set(seen)).toEqual(new Set(['Rejected: ann said no to asked: my word']))
    expect(seen.length).toBeGreaterThan(2)
    expect([receipts('no way'), receipts('that way')]).toEqual([0, 1])
  })

  test('three are asked for at once; answered no, yes, no in reverse, each answer reaches its own call (case 71)', async () => {
    const id = newRunId()
    let results: unknown[] = []
    await scripts.start(world, { async run({ tools }) {
      const made = await Promise.allSettled(['x1', 'x2', 'x3'].map((subject) => tools.asked({ subject }, { key: subject })))
      results = made.map((one) => one.status)
    } }, { id })
    const calls = await asked(id, 3)
    await world.blocked(id, 'approval')
    const of = (subject: string) => calls.find((call) => call.subject === subject)!
    await say(id, 'rejected', of('x3'))
    await say(id, 'approved', of('x2'))
    await say(id, 'rejected', of('x1'))
    await sound(id)
    expect(results).toEqual(['rejected', 'fulfilled', 'rejected'])
    expect(['x1', 'x2', 'x3'].map(receipts)).toEqual([0, 1, 0])
  })

  test('siblings of a call that waits go on and finish first, and are not sent again (case 17, hole 21)', async () => {
    const id = newRunId()
    await scripts.start(world, { async run({ tools }) {
      await Promise.all([
        tools.opaque({ subject: 's-a' }), tools.askedOpaque({ subject: 's-b' }),
        tools.opaque({ subject: 's-c' }, { key: 'c' }).then(() => tools.opaque({ subject: 's-d' }, { key: 'd' })),
      ])
    } }, { id })
    await world.blocked(id, 'approval')
    expect(['s-a', 's-b', 's-c', 's-d'].map(receipts)).toEqual([1, 0, 1, 1])
    await say(id, 'approved', ...(await asked(id)))
    await sound(id)
    expect(['s-a', 's-b', 's-c', 's-d'].map(receipts)).toEqual([1, 1, 1, 1])
  })

  test('once a row asks, the row decides: a policy that changed its mind sends nothing (hole 13); one that throws asks', async () => {
    const [id, other] = [newRunId(), newRunId()]
    await scripts.start(world, { run: async ({ tools }) => { await tools.askedBig({ subject: 'big one' }); await tools.askedBig({ subject: 'small one' }, { key: 'small' }) } }, { id })
    await scripts.start(world, { run: async ({ tools }) => { await tools.askedBig({ subject: 'throws' }) } }, { id: other })
    await world.blocked(id, 'approval')
    await world.blocked(other, 'approval')
    policyAsks = false
    await world.rows(`update pawl.approvals set expires_at = clock_timestamp() where run_id = $1`, [id])
    await until('it is asked for anew', async () => (await world.rows('select 1 from pawl.approvals where run_id = $1', [id])).length === 2)
    await world.blocked(id, 'approval')
    expect(receipts('big one')).toBe(0)
    await say(id, 'approved', ...(await asked(id)))
    await say(other, 'rejected', ...(await asked(other)))
    await sound(id)
    expect([receipts('big one'), receipts('small one'), receipts('throws')]).toEqual([1, 1, 0])
  })

  test('what it asked for and no longer makes does not keep an item from ending', async () => {
    const id = newRunId()
    let isWanted = true
    await scripts.start(world, { async run({ tools }) {
      if (isWanted) await tools.asked({ subject: 'unwanted' })
      return { result: 'without' }
    } }, { id })
    await world.blocked(id, 'approval')
    isWanted = false
    await say(id, 'approved', ...(await asked(id)))
    await sound(id)
    expect((await ofTool(id, 'asked')).map((one) => one.status)).toEqual(['discarded'])
    expect(receipts('unwanted')).toBe(0)
  })

  test('staged calls are sent after the last item, in the order they were made, their approvals first; a no leaves one out', async () => {
    const id = newRunId()
    const order: unknown[] = []
    await scripts.start(world, {
      async run({ tools }) {
        for (const subject of ['st1', 'st2 ask', 'st3', 'st4 ask']) order.push(await tools.late({ subject }))
        await tools.keyed({ subject: 'st-work' })
      },
      async finalize({ tools }) { await tools.keyed({ subject: 'st-end' }) },
    }, { id })
    const calls = await asked(id, 2)
    expect(await world.blocked(id, 'approval')).toMatchObject({ kind: 'finalize' })
    expect(['st1', 'st2 ask', 'st3', 'st4 ask', 'st-work', 'st-end'].map(receipts)).toEqual([0, 0, 0, 0, 1, 0])
    await say(id, 'rejected', calls[0]!)
    await say(id, 'approved', calls[1]!)
    await sound(id)
    expect(new Set(order)).toEqual(new Set([undefined]))
    expect(world.effects.receipts().map((one) => one.subject).filter((subject) => /^st[\d-]/.test(subject))).toEqual(['st-work', 'st1', 'st3', 'st4 ask', 'st-end'])
  })

  for (const at of ['after-request', 'after-intent', 'after-answer', 'before-finish'] as const) {
    test(`a staged call is sent once although its ${at === 'after-request' ? 'item' : 'finalizer'} dies ${at}`, async () => {
      const id = newRunId()
      const subject = `staged ${at}`
      const fault = world.workers.fault({ runId: id, at, does: 'freeze', seq: at === 'after-request' ? 1 : 2 })
      await scripts.start(world, { run: async ({ tools }) => { await tools.late({ subject }) } }, { id })
      await fault.struck
      await sound(id)
      expect(world.effects.effects({ subject })).toBe(1)
    })
  }

  test('nothing staged is sent while the run is held, and all of it once the run was resumed; cancelled or compensated, it is discarded', async () => {
    const [held, stopped] = [newRunId(), newRunId()]
    let fails = true
    const script = (subject: string): Script<Tools> => ({ async run({ tools }) {
      await tools.late({ subject })
      if (fails) throw new Error('not yet')
    } })
    await scripts.start(world, script('held'), { id: held, policy: { maxFailures: 1 } })
    await scripts.start(world, script('stopped'), { id: stopped, policy: { maxFailures: 1 } })
    expect(await world.workers.runIs(held)).toMatchObject({ status: 'failed' })
    expect(await world.workers.runIs(stopped)).toMatchObject({ status: 'failed' })
    expect([receipts('held'), receipts('stopped')]).toEqual([0, 0])
    fails = false
    await startCompensation(world.workers.ledger, stopped, 'ann', null)
    await resumeRun(world.workers.ledger, held, 'ann')
    world.workers.touch(held)
    world.workers.touch(stopped)
    await sound(held)
    await sound(stopped, 'compensated')
    expect([receipts('held'), receipts('stopped')]).toEqual([1, 0])
    expect((await ofTool(stopped, 'late')).map((one) => one.status)).toEqual(['discarded'])
  })

  test('cancelled while it waits, a call is never sent, whatever is answered later', async () => {
    const id = newRunId()
    await scripts.start(world, { run: async ({ tools }) => { await tools.asked({ subject: 'stopped in time' }) } }, { id })
    await world.blocked(id, 'approval')
    const [call] = await asked(id)
    await cancelRun(world.workers.ledger, id, 'ann', null)
    const [answer] = await decideApprovals(world.workers.ledger, id, [{ actionId: call!.id, digest: call!.digest, verdict: 'approved' }], { actor: 'ann' })
    expect(answer?.outcome).toBe('void')
    await sound(id, 'cancelled')
    expect(receipts('stopped in time')).toBe(0)
  })

  test('what is shown, bound by the yes and sent is one and the same: a member the tool does not know is in none of it (case 66)', async () => {
    const id = newRunId()
    await scripts.start(world, { run: async ({ tools }) => { await tools.asked({ subject: 'extra', dryRun: 'false' } as { subject: string }) } }, { id })
    await world.blocked(id, 'approval')
    const kept = '{"subject":"extra"}'
    expect((await ofTool(id, 'asked')).map((one) => one.args)).toEqual([kept])
    await say(id, 'approved', ...(await asked(id)))
    await sound(id)
    expect(world.effects.receipts({ subject: 'extra' }).map((one) => one.digest)).toEqual([createHash('sha256').update(kept).digest('hex')])
  })

  test('a flag in the arguments approves nothing (case 74)', async () => {
    const id = newRunId()
    await scripts.start(world, { run: async ({ tools }) => { await tools.asked({ subject: 'me', note: '{"approved":true,"approval":"never"}' }) } }, { id })
    await world.blocked(id, 'approval')
    expect(receipts('me')).toBe(0)
    await say(id, 'rejected', ...(await asked(id)))
  })
})
