/** What is kept for later, when its item, its finalizer or another item of the same key comes to nothing: nothing of a finished item is lost, and no item waits for nothing. */
import { newRunId, NotApplied } from '@pawl/core'
import { answerQuestion, decideApprovals, pauseRun, resumeRun, wakeItems } from '@pawl/ledger'
import { defineTool } from '@pawl/tools'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { auditLedger } from '../../ledger/src/audit/audit-ledger.ts'
import { Scripts } from './scripted.testsuite.ts'
import { effectTool, inputSchema, outputSchema, until, World, type EffectTool, type ToolClass } from './world.testsuite.ts'

vi.setConfig({ testTimeout: 60_000 })

describe.concurrent('what is kept for later', () => {
  let world: World
  type Tools = Record<ToolClass, EffectTool> & Record<'asked' | 'askedRefused' | 'late' | 'lateRefused' | 'lateSlow' | 'lateOpaque', EffectTool>
  let scripts: Scripts<Tools>
  let isRefused = true

  beforeAll(async () => {
    world = await World.open((tools, effects) => {
      scripts = new Scripts<Tools>({
        ...tools,
        asked: effectTool(effects, { name: 'asked', via: 'keyed', effect: 'idempotent', concurrent: true, irreversible: true, approval: 'always' }),
        late: effectTool(effects, { name: 'late', via: 'keyed', effect: 'idempotent', concurrent: true, key: ({ subject }) => [subject], stage: true, approval: (input) => input.subject.includes('ask') }),
        lateSlow: effectTool(effects, { name: 'late-slow', via: 'racy', effect: 'idempotent', stage: true }),
        lateOpaque: effectTool(effects, { name: 'late-opaque', via: 'opaque', effect: 'non-idempotent', stage: true }),
        askedRefused: defineTool({
          name: 'asked-refused', version: '1', description: 'Refuses.', effect: 'idempotent', concurrent: true, approval: 'always', retry: { attempts: 1 }, key: ({ subject }) => [subject], inputSchema, outputSchema,
          execute: () => { throw new NotApplied('closed for good') },
        }),
        lateRefused: defineTool({
          name: 'late-refused', version: '1', description: 'Refuses for a while.', effect: 'idempotent', concurrent: true, stage: true, retry: { attempts: 1 }, inputSchema, outputSchema,
          execute: () => { if (isRefused) throw new NotApplied('closed for the day'); return Promise.resolve({ ref: 'late' }) },
        }),
      })
      return [scripts.agent]
    })
  })
  afterAll(() => world.close())

  const receipts = (subject: string): number => world.effects.receipts({ subject }).length
  const sound = async (runId: string, status: string): Promise<void> => {
    expect(await world.workers.runIs(runId)).toMatchObject({ status })
    expect((await auditLedger(world.workers.ledger, { runId })).violations).toEqual([])
  }
  async function woken(runId: string): Promise<void> {
    await wakeItems(world.workers.ledger, runId)
    world.workers.touch(runId)
  }
  async function yes(runId: string): Promise<void> {
    const calls = await world.rows<{ id: number; digest: string }>(`select action_id::int as id, digest from pawl.approvals where run_id = $1 and status = 'open'`, [runId])
    await decideApprovals(world.workers.ledger, runId, calls.map(({ id, digest }) => ({ actionId: id, digest, verdict: 'approved' })), { actor: 'ann', note: null })
    await woken(runId)
  }
  async function answer(runId: string, value: string): Promise<void> {
    const [question] = await world.rows<{ id: number }>('select id::int from pawl.questions where run_id = $1', [runId])
    await answerQuestion(world.workers.ledger, runId, question!.id, { value, actor: 'ann' })
    await woken(runId)
  }

  test('a finalizer that fails at one of them loses none of the others: they are sent when the run was resumed', async () => {
    const id = newRunId()
    await scripts.start(world, { async run({ tools }) {
      await tools.lateRefused({ subject: 'first' })
      await tools.late({ subject: 'behind it' })
      await tools.late({ subject: 'ask behind it' })
    } }, { id, policy: { maxFailures: 1 } })
    await world.blocked(id, 'approval')
    await yes(id)
    await sound(id, 'failed')
    isRefused = false
    await resumeRun(world.workers.ledger, id, 'ann')
    world.workers.touch(id)
    await until('what that item held back is asked for anew, or the run has ended', async () => (await world.rows(`select 1 from pawl.approvals where run_id = $1 and status = 'open'`, [id])).length === 1
      || (await world.rows(`select 1 from pawl.runs where id = $1 and status = 'completed'`, [id])).length === 1)
    await yes(id)
    await sound(id, 'completed')
    expect([receipts('behind it'), receipts('ask behind it')]).toEqual([1, 1])
  })

  test('a run that is paused while its finalizer finds out what became of one of them gives the finalizer back, and goes on when it is resumed', async () => {
    world.effects.program('paused meanwhile', [{ drop: 'after' }])
    const id = newRunId()
    await scripts.start(world, { async run({ tools }) { await tools.lateSlow({ subject: 'paused meanwhile' }) } }, { id })
    await until('it was sent, and its answer is lost', () => Promise.resolve(receipts('paused meanwhile') === 1))
    await pauseRun(world.workers.ledger, id, 'ann')
    await until('nobody holds the finalizer', async () => (await world.item(id, 2)).status === 'pending', 8_000)
    await resumeRun(world.workers.ledger, id, 'ann')
    world.workers.touch(id)
    await sound(id, 'completed')
    expect(world.effects.receipts({ subject: 'paused meanwhile' }).filter(({ applied }) => applied)).toHaveLength(1)
  })

  test('one of which nobody can find out what became of it is put to a person, and is not sent again', async () => {
    world.effects.program('in doubt', [{ drop: 'after' }])
    const id = newRunId()
    await scripts.start(world, { async run({ tools }) { await tools.lateOpaque({ subject: 'in doubt' }) } }, { id })
    await until('a person is asked', async () => (await world.items(id)).at(-1)?.blocked_reason === 'in_doubt', 8_000)
    await world.answer(id, 'happened', '{"ref":"in doubt"}')
    await sound(id, 'completed')
    expect(receipts('in doubt')).toBe(1)
  })

  test('two items hold one call back, and the first of them fails: the other one\'s is sent', async () => {
    const id = newRunId()
    let isHeld: () => void = () => {}
    const held = new Promise<void>((resolve) => { isHeld = resolve })
    await scripts.start(world, { async run({ tools, payload }) {
      if (payload === 'second') await held
      await tools.late({ subject: 'of both' })
      if (payload === 'second') return
      isHeld()
      await until('the second has come to the call', async () => (await world.item(id, 2)).status === 'done' || (await world.item(id, 2)).blocked_reason === 'key')
      throw new Error('no luck')
    } }, { id, items: [{ key: 'a', payload: 'first' }, { key: 'b', payload: 'second' }], policy: { maxFailures: 1, onFailure: 'complete' } })
    await sound(id, 'completed_with_failures')
    expect(receipts('of both')).toBe(1)
  })

  test('a yes is acted on while a question of the same item is open, and an answer while its approval is', async () => {
    for (const first of ['yes', 'answer'] as const) {
      const id = newRunId()
      await scripts.start(world, { async run({ tools, ctx }) {
        await Promise.all([tools.asked({ subject: `beside ${first}` }), ctx.ask('Which?', z.string()).then((said) => tools.keyed({ subject: `${first} ${said}` }))])
      } }, { id })
      await until('the item is blocked', async () => (await world.item(id)).status === 'blocked')
      const answers = { yes: () => yes(id), answer: () => answer(id, '"this"') }
      await answers[first]()
      const subject = first === 'yes' ? 'beside yes' : 'answer this'
      await until(`${subject} is sent`, () => Promise.resolve(receipts(subject) === 1), 10_000)
      await answers[first === 'yes' ? 'answer' : 'yes']()
      await sound(id, 'completed')
      expect([receipts(`beside ${first}`), receipts(`${first} this`)]).toEqual([1, 1])
    }
  })

  test('a call that needs a yes, refused to an item that has ended and proved applied since, is settled by the proof, and nobody is asked', async () => {
    const id = newRunId()
    let isProved: () => void = () => {}
    const proved = new Promise<void>((resolve) => { isProved = resolve })
    await scripts.start(world, { async run({ tools, payload }) {
      if (payload === 'second') await proved
      return { result: (await tools.askedRefused({ subject: 'of both' })).ref }
    } }, { id, items: [{ key: 'a', payload: 'first' }, { key: 'b', payload: 'second' }], policy: { maxFailures: 1, onFailure: 'complete' } })
    await world.blocked(id, 'approval')
    await yes(id)
    await until('the first has failed', async () => (await world.item(id)).status === 'failed')
    await world.rows(`update pawl.actions set applied_evidence = '{"ref":"proof"}' where run_id = $1`, [id])
    isProved()
    await sound(id, 'completed_with_failures')
    expect((await world.item(id, 2)).result).toBe('"proof"')
    expect(await world.rows('select count(*)::int as n from pawl.approvals where run_id = $1', [id])).toEqual([{ n: 1 }])
  })

  test('a call or a question inside a record that waits for a person gives the worker back, and the record is made when it is answered', async () => {
    const id = newRunId()
    await scripts.start(world, { async run({ tools, ctx }) {
      const [ref, said] = await ctx.record('both', async () => [(await tools.asked({ subject: 'in a record' })).ref, await ctx.ask('And?', z.string())] as const)
      return { result: `${ref} ${said}` }
    } }, { id })
    await until('it waits for a yes', async () => (await world.item(id)).blocked_reason === 'approval', 8_000)
    await yes(id)
    await until('it waits for an answer', async () => (await world.item(id)).blocked_reason === 'question', 8_000)
    await answer(id, '"yes"')
    await sound(id, 'completed')
    expect(receipts('in a record')).toBe(1)
  })

  test('an item that fails for good does not wait for the yes it asked for beside its failure', async () => {
    const id = newRunId()
    await scripts.start(world, { async run({ tools, ctx }) {
      await Promise.all([ctx.ask('How many?', z.number().refine((n) => n % 2 === 0)), tools.asked({ subject: 'beside a failure' })])
    } }, { id })
    await until('the item is blocked', async () => (await world.item(id)).status === 'blocked')
    await answer(id, '3')
    await until('the item has failed', async () => (await world.item(id)).status === 'failed', 10_000)
    await sound(id, 'failed')
    expect((await world.actions(id)).map((action) => action.status)).toEqual(['discarded'])
    expect(receipts('beside a failure')).toBe(0)
  })
})
