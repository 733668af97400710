/** A run that is resumed after its finalizer had begun: what the finalizer sent is not sent again, and nobody waits for ever for what it left unsettled. */
import { newRunId, NotApplied } from '@pawl/core'
import { answerDoubt, auditLedger, cancelRun, listInbox, resumeRun, wakeItems } from '@pawl/ledger'
import { defineTool } from '@pawl/tools'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { Scripts } from './scripted.testsuite.ts'
import { effectTool, inputSchema, outputSchema, until, World, type EffectTool, type ToolClass } from './world.testsuite.ts'

// Deadlines end broken tests only; a busy machine is no defect.
vi.setConfig({ testTimeout: 90_000 })

describe.concurrent('a resumed run whose finalizer', () => {
  let world: World
  type Tools = Record<ToolClass, EffectTool> & Record<'refusing' | 'lateSlow', EffectTool>
  let scripts: Scripts<Tools>
  const closed = new Set<string>()

  beforeAll(async () => {
    world = await World.open((tools, effects) => {
      scripts = new Scripts<Tools>({
        ...tools,
        lateSlow: effectTool(effects, { name: 'late-slow', via: 'racy', effect: 'idempotent', stage: true, key: ({ subject }) => [subject] }),
        refusing: defineTool({
          name: 'refusing', version: '1', description: 'Refuses while it is closed.', effect: 'idempotent', concurrent: true, retry: { attempts: 1 }, inputSchema, outputSchema,
          execute: ({ subject }) => { if (closed.has(subject)) throw new NotApplied('closed for the day'); return Promise.resolve({ ref: 'late' }) },
        }),
      })
      return [scripts.agent]
    })
  })
  afterAll(() => world.close())

  const receipts = (subject: string): number => world.effects.receipts({ subject }).length
  const finalizers = async (runId: string) => (await world.items(runId)).filter((item) => item.kind === 'finalize').map((item) => item.status)
  async function resume(runId: string): Promise<void> {
    expect(await resumeRun(world.workers.ledger, runId, 'ann')).toMatchObject({ outcome: 'resumed' })
    world.workers.touch(runId)
  }
  async function sound(runId: string): Promise<void> {
    expect(await world.workers.runIs(runId, ['completed'])).toMatchObject({ status: 'completed' })
    expect((await auditLedger(world.workers.ledger, { runId })).violations).toEqual([])
  }

  test('failed after a call of its own goes on with that finalizer: the call is not made again', async () => {
    const id = newRunId()
    closed.add(id)
    await scripts.start(world, { run: () => Promise.resolve(), async finalize({ tools }) {
      await tools.opaque({ subject: `summary of ${id}` })
      await tools.refusing({ subject: id })
    } }, { id, policy: { maxFailures: 1 } })
    expect(await world.workers.runIs(id)).toMatchObject({ status: 'failed' })
    closed.delete(id)
    await resume(id)
    await sound(id)
    expect(receipts(`summary of ${id}`)).toBe(1)
    expect(await finalizers(id)).toEqual(['done'])
  })

  test('was cancelled between two calls goes on with that finalizer', async () => {
    const id = newRunId()
    let goOn = (): void => {}
    const gate = new Promise<void>((resolve) => { goOn = resolve })
    await scripts.start(world, { run: () => Promise.resolve(), async finalize({ tools }) {
      await tools.opaque({ subject: `summary of ${id}` })
      await tools.read({ subject: id })
      await gate
    } }, { id })
    await until('both are in the ledger', async () => (await world.actions(id)).filter((action) => action.status === 'committed').length === 2)
    await cancelRun(world.workers.ledger, id, 'ann', null)
    goOn()
    await resume(id)
    await sound(id)
    expect(receipts(`summary of ${id}`)).toBe(1)
  })

  test('was cancelled with a call nobody can ask about under way asks a person first, and does not make it again', async () => {
    const id = newRunId()
    const fault = world.workers.fault({ runId: id, at: 'after-answer', tool: 'opaque', does: 'freeze' })
    await scripts.start(world, { run: () => Promise.resolve(), async finalize({ tools }) { await tools.opaque({ subject: `summary of ${id}` }) } }, { id })
    await fault.struck
    await cancelRun(world.workers.ledger, id, 'ann', null)
    await resume(id)
    await until('a person is asked', async () => (await listInbox(world.workers.ledger, { namespace: null, runId: id })).entries.length > 0, 30_000)
    const [entry] = (await listInbox(world.workers.ledger, { namespace: null, runId: id })).entries
    expect(entry).toMatchObject({ kind: 'in_doubt', action: { tool: 'opaque' } })
    const action = (await world.actions(id))[0]!
    expect((await answerDoubt(world.workers.ledger, id, action.id, { attempt: action.attempt, evidence: 0, answer: 'happened', result: '{"ref":"seen"}', actor: 'ann' })).outcome).toBe('answered')
    await wakeItems(world.workers.ledger, id)
    world.workers.touch(id)
    await sound(id)
    fault.thaw()
    expect(receipts(`summary of ${id}`)).toBe(1)
  })

  test('was cancelled with a key under way that an item needs, which goes round: it is settled, and the item waits no longer', async () => {
    const id = newRunId()
    let isMended = false
    const fault = world.workers.fault({ runId: id, at: 'after-answer', tool: 'late-slow', does: 'freeze' })
    await scripts.start(world, { async run({ tools, payload }) {
      if (payload === 'second' && !isMended) throw new Error('no luck')
      await tools.lateSlow({ subject: `of both ${id}` })
    } }, { id, items: [{ key: 'a', payload: 'first' }, { key: 'b', payload: 'second' }], policy: { maxFailures: 1, onFailure: 'complete' } })
    await fault.struck
    await cancelRun(world.workers.ledger, id, 'ann', null)
    isMended = true
    await resume(id)
    await sound(id)
    fault.thaw()
    expect(await world.applied(`of both ${id}`)).toBe(1)
  })

  test('had told how many were done, and would tell another number now, stops and says so: nothing is sent', async () => {
    const id = newRunId()
    closed.add(id)
    let isMended = false
    await scripts.start(world, {
      run: ({ payload }) => (payload === 1 && !isMended ? Promise.reject(new Error('cannot')) : Promise.resolve()),
      async finalize({ run, tools }) {
        await tools.opaque({ subject: `report of ${id}`, note: `${run.tally.done} done` })
        await tools.refusing({ subject: id })
      },
    }, { id, items: [{ key: 'a', payload: 0 }, { key: 'b', payload: 1 }], policy: { maxFailures: 1, onFailure: 'complete' } })
    expect(await world.workers.runIs(id)).toMatchObject({ status: 'failed' })
    closed.delete(id)
    isMended = true
    await resume(id)
    expect(await world.blocked(id, 'conflict')).toMatchObject({ kind: 'finalize' })
    expect(receipts(`report of ${id}`)).toBe(1)
  })
})
