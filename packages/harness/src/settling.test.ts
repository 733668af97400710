/** What is unsettled is found out by proof, never by time or by an error's kind: evidence, a call under the same key, verify, a person. */
import { newRunId } from '@pawl/core'
import { answerDoubt, cancelRun, startCompensation } from '@pawl/ledger'
import { applied, defineTool, unknown } from '@pawl/tools'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { Scripts } from './scripted.testsuite.ts'
import { effectTool, inputSchema, outputSchema, until, World, type EffectTool, type ToolClass } from './world.testsuite.ts'

// Deadlines end broken tests only; a busy machine is no defect.
vi.setConfig({ testTimeout: 90_000 })

/** By tool, how to let it answer once its signal was aborted. */
const told = new Map<string, () => void>()
/** Ignores its signal, as much code does. */
const deafTool = (name: string, verify?: EffectTool['verify']): EffectTool => defineTool({
  name: name.toLowerCase(), version: '1', description: 'Answers late.', effect: 'non-idempotent', timeout: 300, inputSchema, outputSchema, ...(verify ? { verify } : {}),
  execute: (input, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => told.set(input.subject, () => resolve({ ref: 'late but true' })))),
})

type Tools = Record<ToolClass, EffectTool> & { deaf: EffectTool; deafLookup: EffectTool; noUndo: EffectTool; hasty: EffectTool; blind: EffectTool; slowLookup: EffectTool; shortWindow: EffectTool }

describe.concurrent('settling', () => {
  let world: World
  let scripts: Scripts<Tools>
  const once = (tool: keyof Tools, subject: string) => ({ run: async ({ tools }: { tools: { [K in keyof Tools]: (input: { subject: string }) => Promise<{ ref: string }> } }) => ({ result: (await tools[tool]({ subject })).ref }) })

  beforeAll(async () => {
    world = await World.open((tools, effects) => {
      scripts = new Scripts<Tools>({
        ...tools,
        noUndo: effectTool(effects, { name: 'no-undo', via: 'keyed', effect: 'idempotent', concurrent: true }),
        deaf: deafTool('deaf'),
        deafLookup: deafTool('deafLookup', () => Promise.resolve(unknown('not yet'))),
        hasty: effectTool(effects, { name: 'hasty', via: 'opaque', effect: 'non-idempotent', timeout: 1_000 }),
        blind: effectTool(effects, { name: 'blind', via: 'lookup', effect: 'non-idempotent', timeout: 1_000, verify: () => Promise.resolve(unknown('cannot tell')) }),
        slowLookup: effectTool(effects, { name: 'slow-lookup', via: 'lookup', effect: 'non-idempotent', timeout: 1_000, settleWindow: 2_000,
          verify: async (_, { key, fetch }) => {
            const response = await fetch(`${effects.url}/lookup/do/x`, { headers: { 'idempotency-key': key } })
            return response.status === 200 ? applied((await response.json()) as { ref: string }) : { verdict: 'notApplied' }
          } }),
        shortWindow: effectTool(effects, { name: 'short-window', via: 'keyed', effect: 'idempotent', concurrent: true, keyWindow: 4_500 }),
      })
      return [scripts.agent]
    })
  })
  afterAll(() => world.close())

  const only = async (runId: string) => {
    const [action] = await world.actions(runId)
    if (!action) throw new Error('no action')
    return action
  }

  test('a deadline leaves the call in doubt, never failed, and it is not sent again (case 6)', async () => {
    world.effects.program('late', [{ hold: 'after' }])
    const runId = await scripts.start(world, once('hasty', 'late'))
    await world.blocked(runId, 'in_doubt')
    expect(await only(runId)).toMatchObject({ status: 'in_doubt' })
    world.effects.release('late')
    await world.answer(runId, 'happened', '{"ref":"late"}')
    expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })
    expect(world.effects.receipts({ subject: 'late' })).toHaveLength(1)
  })

  test.each([['opaque', 'deaf'], ['with verify', 'deafLookup']] as const)('a tool that answers after its deadline was told to stop, and settles its call itself: %s (case 6)', async (_, tool) => {
    const runId = await scripts.start(world, { run: async ({ tools }) => ({ result: (await tools[tool]({ subject: tool })).ref }) })
    await until('it was told to stop', () => told.has(tool))
    const [action] = await world.actions(runId)
    expect(['started', 'in_doubt']).toContain(action?.status)
    told.get(tool)?.()
    expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })
    // What the guard stopped on a busy machine is no send that counts.
    const settled = await only(runId)
    expect({ ...settled, sent: settled.sends - settled.refused }).toMatchObject({ status: 'committed', settled_by: 'evidence', sent: 1 })
    expect(await world.item(runId)).toMatchObject({ result: '"late but true"' })
  })

  test.each([
    ['an empty 200', { answer: '' }], ['truncated JSON', { answer: '{"ref":' }], ['a 500', { errorAfter: 500 }], ['a 502', { errorAfter: 502 }], ['a connection reset', { drop: 'after' as const }],
  ])('%s after the effect is in doubt and not sent again; verify settles a call that can be asked (case 12)', async (name, fault) => {
    world.effects.program(`opaque ${name}`, [fault])
    world.effects.program(`lookup ${name}`, [fault])
    const [opaque, lookup] = await Promise.all([scripts.start(world, once('opaque', `opaque ${name}`)), scripts.start(world, once('lookup', `lookup ${name}`))])
    await world.blocked(opaque, 'in_doubt')
    expect(world.effects.receipts({ subject: `opaque ${name}` })).toHaveLength(1)
    expect(await world.workers.runIs(lookup)).toMatchObject({ status: 'completed' })
    expect(world.effects.receipts({ subject: `lookup ${name}` })).toHaveLength(1)
    expect((await only(lookup)).settled_by).toBe('verify')
  })

  test('"not found" within the settle window is not "did not happen" (case 14)', async () => {
    world.effects.program('hidden', [{ drop: 'after', hiddenMs: 2_000 }])
    const runId = await scripts.start(world, once('slowLookup', 'hidden'))
    expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })
    expect(world.effects.receipts({ subject: 'hidden' })).toHaveLength(1)
  })

  test('a refused re-call says nothing about an applied first send: the action is never failed (hole 4)', async () => {
    const seen = new Set<string>()
    world.effects.program('refused again', [{ drop: 'after' }, { refuse: 401 }, { refuse: 401 }, {}])
    const runId = await scripts.start(world, once('keyed', 'refused again'))
    await until('the run ends', async () => {
      for (const action of await world.actions(runId)) seen.add(action.status)
      return (await world.item(runId)).status === 'done'
    })
    expect([...seen].toSorted()).toEqual(expect.arrayContaining(['committed']))
    expect(seen.has('failed')).toBe(false)
    const action = await only(runId)
    expect(action).toMatchObject({ status: 'committed' })
    expect(action.refused).toBeGreaterThanOrEqual(2)
    expect(await world.applied('refused again')).toBe(1)
  })

  test('a second call under a key waits out the first re-call too, whose answer never came: a receiver that looks first and acts later acts once (hole 10)', async () => {
    world.effects.program('racing re-calls', [{ drop: 'before' }, { delayBeforeMs: 2_600 }])
    const runId = await scripts.start(world, once('keyedSlow', 'racing re-calls'))
    expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(await world.applied('racing re-calls')).toBe(1)
  })

  test('a call still running at the receiver answers 409, and is waited for instead of taken for a refusal (holes 4 and 10)', async () => {
    world.effects.program('running', [{ hold: 'before' }])
    const id = newRunId()
    const fault = world.workers.fault({ runId: id, at: 'after-answer', does: 'freeze' })
    await scripts.start(world, once('keyed', 'running'), { id })
    await world.effects.received('running', 3)
    world.effects.release('running')
    expect(await world.workers.runIs(id)).toMatchObject({ status: 'completed' })
    expect(await world.applied('running')).toBe(1)
    fault.thaw()
  })

  test('verify that cannot tell is asked again, and then a person is (opaque in the end)', async () => {
    world.effects.program('blind', [{ drop: 'after' }])
    const runId = await scripts.start(world, once('blind', 'blind'))
    const item = await world.blocked(runId, 'in_doubt')
    expect(item.blocked_detail).toContain('every try to find out')
    expect(world.effects.receipts({ subject: 'blind' })).toHaveLength(1)
  })

  test('past its key window a call is not repeated blindly (case 25)', async () => {
    // The window is 4.5 s and a re-call needs send window + timeout (3 s) left of it: after the takeover it has not.
    const id = newRunId()
    const fault = world.workers.fault({ runId: id, at: 'after-answer', does: 'freeze' })
    await scripts.start(world, once('shortWindow', 'forgotten'), { id })
    await fault.struck
    const item = await world.blocked(id, 'in_doubt')
    expect(item.blocked_detail).toContain('forgotten the key')
    expect(world.effects.receipts({ subject: 'forgotten' })).toHaveLength(1)
  })

  test('a zombie that holds the answer settles the doubt when it wakes, without a person and without a second send', async () => {
    const id = newRunId()
    const fault = world.workers.fault({ runId: id, at: 'after-answer', does: 'freeze' })
    await scripts.start(world, once('opaque', 'zombie with proof'), { id })
    await world.blocked(id, 'in_doubt')
    fault.thaw()
    expect(await world.workers.runIs(id)).toMatchObject({ status: 'completed' })
    expect(await only(id)).toMatchObject({ status: 'committed', settled_by: 'evidence' })
    expect(world.effects.receipts({ subject: 'zombie with proof' })).toHaveLength(1)
  })

  test('a zombie that never sent wakes while its call is in doubt: it sends nothing, and says so; nobody is asked, and the call is made once', async () => {
    const id = newRunId()
    const fault = world.workers.fault({ runId: id, at: 'before-send', does: 'freeze' })
    await scripts.start(world, once('opaque', 'zombie unsent'), { id })
    await world.blocked(id, 'in_doubt')
    fault.thaw()
    expect(await world.workers.runIs(id)).toMatchObject({ status: 'completed' })
    expect(await only(id)).toMatchObject({ status: 'committed', attempt: 2, sends: 2, refused: 1 })
    expect(world.effects.receipts({ subject: 'zombie unsent' })).toMatchObject([{ attempt: 2 }])
  })

  test('a proof that comes after a person said "it did not" settles the call: it is not sent again, and not asked for ever', async () => {
    const id = newRunId()
    const zombie = world.workers.fault({ runId: id, at: 'after-answer', does: 'freeze' })
    const next = world.workers.fault({ runId: id, at: 'after-claim', nth: 3, does: 'freeze' })
    await scripts.start(world, once('opaque', 'proof after no'), { id })
    await zombie.struck
    await world.answer(id, 'did_not')
    await next.struck
    zombie.thaw()
    await until('the proof is there', async () => (await only(id)).applied_evidence !== null)
    expect(await only(id)).toMatchObject({ status: 'failed' })
    next.thaw()
    expect(await world.workers.runIs(id)).toMatchObject({ status: 'completed' })
    expect(await only(id)).toMatchObject({ status: 'committed', settled_by: 'evidence' })
    expect(world.effects.receipts({ subject: 'proof after no' })).toHaveLength(1)
  })

  test('a proof that comes after a person said "it did not" is undone when the run is compensated', async () => {
    const id = newRunId()
    const zombie = world.workers.fault({ runId: id, at: 'after-answer', does: 'freeze' })
    await scripts.start(world, once('opaque', 'undone after no'), { id })
    await zombie.struck
    await world.blocked(id, 'in_doubt')
    await cancelRun(world.workers.ledger, id, 'ann', null)
    world.workers.touch(id)
    await world.answer(id, 'did_not')
    zombie.thaw()
    await until('the proof is there', async () => (await only(id)).applied_evidence !== null)
    await startCompensation(world.workers.ledger, id, 'ann', null)
    world.workers.touch(id)
    expect(await world.workers.runIs(id, ['compensated', 'compensated_with_residue'])).toMatchObject({ status: 'compensated' })
    expect(await world.applied('undone after no', 'undo')).toBe(1)
  })

  test('an abandoned doubt fails its item and is never sent again', async () => {
    world.effects.program('abandoned', [{ drop: 'before' }])
    const runId = await scripts.start(world, once('opaque', 'abandoned'))
    await world.answer(runId, 'abandon')
    expect(await world.workers.runIs(runId)).toMatchObject({ status: 'failed' })
    expect(await world.item(runId)).toMatchObject({ status: 'failed' })
    expect(world.effects.receipts({ subject: 'abandoned' })).toHaveLength(1)
  })

  test('an answer to an older doubt is refused (hole 12)', async () => {
    world.effects.program('asked twice', [{ drop: 'before' }, { drop: 'after' }])
    const runId = await scripts.start(world, once('opaque', 'asked twice'))
    await world.blocked(runId, 'in_doubt')
    const first = await only(runId)
    await world.answer(runId, 'did_not')
    await world.effects.received('asked twice', 2)
    await world.blocked(runId, 'in_doubt')
    const stale = await answerDoubt(world.workers.ledger, runId, first.id, { attempt: first.attempt, evidence: first.evidence.length, answer: 'did_not', actor: 'second tab' })
    expect(stale.outcome).toBe('changed')
    await world.answer(runId, 'happened', '{"ref":"seen"}')
    expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })
    expect(world.effects.receipts({ subject: 'asked twice' })).toHaveLength(2)
  })

  test('compensating sends no forward effect: a call that never left is found not applied, and nothing is left to undo (hole 5)', async () => {
    const id = newRunId()
    const fault = world.workers.fault({ runId: id, at: 'before-send', does: 'freeze' })
    await scripts.start(world, once('lookup', 'stopped'), { id })
    await fault.struck
    expect((await startCompensation(world.workers.ledger, id, 'ann', null)).outcome).toBe('started')
    world.workers.touch(id)
    expect(await world.workers.runIs(id)).toMatchObject({ status: 'compensated' })
    expect(world.effects.receipts({ subject: 'stopped' })).toHaveLength(0)
    fault.thaw()
  })

  test.each([['compensating', startCompensation], ['cancelling', cancelRun]] as const)('%s asks a person about a keyed call that cannot be undone instead of calling it again (hole 5)', async (name, stop) => {
    const id = newRunId()
    const fault = world.workers.fault({ runId: id, at: 'before-send', does: 'freeze' })
    await scripts.start(world, once('noUndo', `not forward ${name}`), { id })
    await fault.struck
    await stop(world.workers.ledger, id, 'ann', null)
    world.workers.touch(id)
    await world.blocked(id, 'in_doubt')
    await world.answer(id, 'did_not')
    await until('nothing is live', async () => (await world.items(id)).every((item) => !['pending', 'in_progress', 'blocked'].includes(item.status)))
    expect(world.effects.receipts({ subject: `not forward ${name}` })).toHaveLength(0)
    fault.thaw()
    await world.workers.quiet(id)
    expect(world.effects.receipts({ subject: `not forward ${name}` })).toHaveLength(0)
  })

  test('the wait before verify covers a send that begins at the end of the old holder\'s send window (hole 5)', async () => {
    // The holder's epoch is bumped while its request stands in the receiver, unapplied; it is applied after the deadline of a shorter wait.
    world.effects.program('late apply', [{ delayBeforeMs: 1_800 }])
    const runId = await scripts.start(world, once('lookup', 'late apply'))
    await world.effects.received('late apply', 1)
    expect((await startCompensation(world.workers.ledger, runId, 'ann', null)).outcome).toBe('started')
    world.workers.touch(runId)
    expect(await world.workers.runIs(runId)).toMatchObject({ status: 'compensated' })
    expect([await world.applied('late apply', 'do'), await world.applied('late apply', 'undo')]).toEqual([1, 1])
  })
})

describe('a process with one slot', () => {
  let world: World
  let scripts: Scripts<Record<ToolClass, EffectTool>>
  beforeAll(async () => {
    world = await World.open((tools) => [(scripts = new Scripts(tools)).agent], { workers: 1, concurrency: 1 })
  })
  afterAll(() => world.close())

  test('goes on with other items while one waits to be verified: settling holds no slot (hole 39)', async () => {
    world.effects.program('waits', [{ drop: 'after' }])
    const done: string[] = []
    const runId = await scripts.start(world, {
      run: async ({ payload, tools }) => {
        await (payload === 1 ? tools.lookup({ subject: 'waits' }) : tools.keyed({ subject: `quick ${String(payload)}` }))
        done.push(String(payload))
      },
    }, { items: [1, 2, 3, 4].map((n) => ({ key: `${n}`, payload: n })) })
    expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })
    expect(done).toEqual(['2', '3', '4', '1'])
    expect(await world.applied('waits')).toBe(1)
  })
})
