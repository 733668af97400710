/** Asking a person: what waits, what is kept, and that a crash anywhere around it neither asks nor answers twice. */
import { newRunId, ToolFailed } from '@pawl/core'
import { answerQuestion, cancelRun, resumeRun, wakeItems } from '@pawl/ledger'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { FailpointName } from './failpoint.ts'
import { Scripts } from './scripted.testsuite.ts'
import { effectTool, until, World, type EffectTool, type ToolClass } from './world.testsuite.ts'

vi.setConfig({ testTimeout: 90_000 })

interface QuestionNow extends Record<string, unknown> {
  readonly id: number
  readonly key: string
  readonly question: string
  readonly status: string
  readonly answer: string | null
}

describe.concurrent('ctx.ask', () => {
  let world: World
  type Tools = Record<ToolClass, EffectTool> & { once: EffectTool }
  let scripts: Scripts<Tools>

  beforeAll(async () => {
    world = await World.open((tools, effects) => {
      scripts = new Scripts<Tools>({ ...tools, once: effectTool(effects, { name: 'once', via: 'keyed', effect: 'idempotent', concurrent: true, key: ({ subject }) => [subject], retry: { attempts: 1 } }) })
      return [scripts.agent]
    })
  })
  afterAll(() => world.close())

  const questions = (runId: string) => world.rows<QuestionNow>('select id::int, key, question, status, answer from pawl.questions where run_id = $1 order by order_no', [runId])
  async function asked(runId: string, n = 1): Promise<QuestionNow[]> {
    let found: QuestionNow[] = []
    await until(`${n} questions of ${runId} are open`, async () => (found = (await questions(runId)).filter((one) => one.status === 'open')).length === n)
    return found
  }
  async function say(runId: string, id: number, value: unknown, actor = 'ann'): Promise<void> {
    expect((await answerQuestion(world.workers.ledger, runId, id, { value: JSON.stringify(value), actor })).outcome).toBe('answered')
    await wakeItems(world.workers.ledger, runId)
    world.workers.touch(runId)
  }
  const completed = async (runId: string) => expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })

  test('waits without a worker, gets the typed answer, and every later attempt gets it at once', async () => {
    const seen: unknown[] = []
    const id = newRunId()
    const fault = world.workers.fault({ runId: id, at: 'before-finish', seq: 1, does: 'freeze' })
    await scripts.start(world, { async run({ ctx, tools }) {
      const plan = await ctx.ask('How many for Ann?', z.object({ count: z.number().int().transform((n) => n * 2), note: z.string().default('none') }))
      seen.push(plan)
      await tools.keyed({ subject: `for ann ${plan.count}` })
      const isMeant = await ctx.ask('Really?', z.boolean())
      return { result: isMeant }
    } }, { id })
    const blocked = await world.blocked(id, 'question')
    expect(JSON.parse(blocked.blocked_detail ?? '')).toMatchObject({ question: (await asked(id))[0]?.id, key: '1' })
    await world.workers.quiet(id)
    expect(blocked).toMatchObject({ failures: 0, barren_attempts: 0 })
    await say(id, (await asked(id))[0]!.id, { count: 3 })
    await until('the second is asked', async () => (await questions(id)).length === 2)
    await world.blocked(id, 'question')
    await say(id, (await asked(id))[0]!.id, true)
    await fault.struck
    await completed(id)
    expect(seen).toEqual(Array.from({ length: seen.length }, () => ({ count: 6, note: 'none' })))
    expect(seen.length).toBeGreaterThanOrEqual(3)
    expect(await world.applied('for ann 6')).toBe(1)
    expect((await world.item(id)).result).toBe('true')
    expect(await questions(id)).toMatchObject([{ key: '1', answer: '{"count":3}' }, { key: '2', answer: 'true' }])
    expect(await world.rows(`select kind from pawl.events where run_id = $1 and kind like 'question.%' order by id`, [id])).toEqual(['question.asked', 'question.answered', 'question.asked', 'question.answered'].map((kind) => ({ kind })))
  })

  test.each<[FailpointName, string | undefined]>([
    ['before-intent', 'ctx.ask'], ['after-intent', 'ctx.ask'], ['after-claim', undefined], ['before-intent', 'opaque'], ['after-completion', 'opaque'], ['before-finish', undefined], ['after-finish', undefined],
  ])('a crash %s (%s), before and again after the answer, asks once, answers once, sends once; the dead wake too late', async (at, tool) => {
    const id = newRunId()
    const place = { runId: id, at, ...(tool === undefined ? {} : { tool }), does: 'freeze' } as const
    const first = world.workers.fault({ ...place, nth: 1 })
    const second = world.workers.fault({ ...place, nth: 2 })
    await scripts.start(world, { async run({ ctx, tools }) {
      const name = await ctx.ask('Whom?', z.string())
      await tools.opaque({ subject: `${name} ${id}` })
    } }, { id })
    await say(id, (await asked(id))[0]!.id, 'bob')
    await completed(id)
    first.thaw()
    second.thaw()
    await world.workers.quiet(id)
    expect(await questions(id)).toMatchObject([{ status: 'answered', answer: '"bob"' }])
    expect(await world.applied(`bob ${id}`)).toBe(1)
    expect(await world.rows(`select kind from pawl.events where run_id = $1 and kind like 'question.%' order by id`, [id])).toEqual([{ kind: 'question.asked' }, { kind: 'question.answered' }])
  })

  test('a call under way beside a question finishes first; questions asked beside each other are all there at once, and each answer is used as it comes', async () => {
    const id = newRunId()
    const subject = `beside ${id}`
    world.effects.program(subject, [{ hold: 'after' }])
    await scripts.start(world, { async run({ ctx, tools }) {
      const beside = tools.opaque({ subject })
      await world.effects.received(subject, 1)
      const [a, b] = await Promise.all([ctx.ask('a?', z.string()), ctx.ask('b?', z.string()), beside])
      return { result: [a, b] }
    } }, { id })
    const [a, b] = (await asked(id, 2)).toSorted((one, other) => one.question.localeCompare(other.question))
    expect((await world.item(id)).status).toBe('in_progress')
    await say(id, b!.id, 'B')
    world.effects.release(subject)
    await world.blocked(id, 'question')
    expect((await world.actions(id)).map((action) => action.status)).toEqual(['committed'])
    await say(id, a!.id, 'A')
    await completed(id)
    expect((await world.item(id)).result).toBe('["A","B"]')
    expect(await world.applied(subject)).toBe(1)
  })

  test('to ask is to act: a refused call whose error led to the question is not sent again after the answer (hole 6)', async () => {
    const id = newRunId()
    const subject = `declined ${id}`
    world.effects.program(subject, [{ refuse: 400 }])
    await scripts.start(world, { async run({ ctx, tools }) {
      const error: unknown = await tools.once({ subject }).then(() => undefined, (thrown: unknown) => thrown)
      if (!(error instanceof ToolFailed)) return { result: 'sent' }
      return { result: await ctx.ask('Declined. What now?', z.string()) }
    } }, { id })
    await say(id, (await asked(id))[0]!.id, 'leave it')
    await completed(id)
    expect((await world.item(id)).result).toBe('"leave it"')
    expect(await world.applied(subject)).toBe(0)
  })

  test('other words under the same key block conflict and lose nothing; a key of its own asks anew, the old answer is still there', async () => {
    const id = newRunId()
    await scripts.start(world, { run: async ({ ctx }) => ({ result: await ctx.ask('Version one?', z.string()) }) }, { id })
    const [first] = await asked(id)
    await world.blocked(id, 'question')
    scripts.replace(id, { run: async ({ ctx }) => ({ result: await ctx.ask('Version two?', z.string()) }) })
    await say(id, first!.id, 'one')
    const blocked = await world.blocked(id, 'conflict')
    expect(JSON.parse(blocked.blocked_detail ?? '')).toMatchObject({ question: first!.id, recorded: 'Version one?', attempted: 'Version two?' })
    expect(await questions(id)).toMatchObject([{ status: 'answered', answer: '"one"' }])
    scripts.replace(id, { run: async ({ ctx }) => ({ result: [await ctx.ask('Version one?', z.string()), await ctx.ask('Version two?', z.string(), { key: 'two' })] }) })
    await world.rows(`select * from pawl.release_item($1, 1, 'resume', false, 'ann', null)`, [id])
    world.workers.touch(id)
    await say(id, (await asked(id))[0]!.id, 'two')
    await completed(id)
    expect((await world.item(id)).result).toBe('["one","two"]')
  })

  test('what cannot be asked is refused to the agent, and nothing is asked', async () => {
    const id = await scripts.start(world, { run: async ({ ctx }) => {
      const refusals = await Promise.all([ctx.ask('', z.string()), ctx.ask('When?', z.date()), ctx.ask('x\u0000', z.string()), ctx.ask('x', z.string(), { key: '' })].map((one) => one.then(() => '', (error: unknown) => (error as { code: string }).code)))
      return { result: refusals }
    } })
    await completed(id)
    expect((await world.item(id)).result).toBe(JSON.stringify(Array.from({ length: 4 }, () => 'BAD_QUESTION')))
    expect(await questions(id)).toEqual([])
  })

  test('an answer that only zod can refuse fails the item with a word about it, and is not asked again', async () => {
    const id = await scripts.start(world, { run: async ({ ctx }) => ({ result: await ctx.ask('An even number?', z.number().refine((n) => n % 2 === 0, 'must be even')) }) })
    await say(id, (await asked(id))[0]!.id, 3)
    expect(await world.workers.runIs(id)).toMatchObject({ status: 'failed' })
    expect((await world.item(id)).error).toContain('must be even')
  })

  test('the same question twice in branches needs keys of its own', async () => {
    const id = await scripts.start(world, { run: async ({ ctx, tools }) => {
      const branch = async (n: number): Promise<unknown> => {
        await tools.keyed({ subject: `branch ${n} ${ctx.run.id}` })
        return await ctx.ask('Go on?', z.boolean())
      }
      const answers = await Promise.allSettled([branch(1), branch(2)])
      return { result: answers.map((one) => (one.status === 'rejected' ? (one.reason as { code: string }).code : one.value)) }
    } })
    await say(id, (await asked(id))[0]!.id, true)
    await completed(id)
    expect((await world.item(id)).result).toContain('QUESTION_ORDER')
  })

  test('a cancelled run’s question is void and comes back open when the resumed run asks it again', async () => {
    const id = await scripts.start(world, { run: async ({ ctx }) => ({ result: await ctx.ask('Still?', z.boolean()) }) })
    const [first] = await asked(id)
    await world.blocked(id, 'question')
    await cancelRun(world.workers.ledger, id, 'ann', null)
    expect(await questions(id)).toMatchObject([{ status: 'void' }])
    expect(await answerQuestion(world.workers.ledger, id, first!.id, { value: 'true', actor: 'ann' })).toMatchObject({ outcome: 'closed' })
    await resumeRun(world.workers.ledger, id, 'ann')
    world.workers.touch(id)
    const [again] = await asked(id)
    expect(again!.id).toBe(first!.id)
    await say(id, again!.id, false)
    await completed(id)
  })
})
