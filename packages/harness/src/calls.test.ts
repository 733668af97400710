/** One call: its key, its replay, its refusals, and what may not happen around it. */
import { newRunId, ToolFailed } from '@pawl/core'
import { releaseItem, resumeRun } from '@pawl/ledger'
import { defineTool } from '@pawl/tools'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { Scripts } from './scripted.testsuite.ts'
import { effectTool, until, World, type EffectTool, type ToolClass } from './world.testsuite.ts'

// Deadlines end broken tests only; a busy machine is no defect.
vi.setConfig({ testTimeout: 90_000 })

const anything = z.unknown()
const returned = new Map<string, unknown>()
/** What it was sent, by name. */
const given = new Map<string, unknown[]>()
/** Gives back what the test put under its name, and echoes what it got. */
const echo = defineTool({
  name: 'echo', version: '1', description: 'Echoes.', effect: 'idempotent', concurrent: true, inputSchema: z.object({ name: z.string(), value: anything.optional() }), outputSchema: anything,
  execute({ name, value }) {
    given.set(name, [...(given.get(name) ?? []), value])
    return Promise.resolve(returned.has(name) ? returned.get(name) : value)
  },
})
const strict = defineTool({
  name: 'strict', version: '1', description: 'Promises a number.', effect: 'non-idempotent', inputSchema: z.object({ value: anything }), outputSchema: z.number(),
  execute: ({ value }) => Promise.resolve(value as number),
})

describe.concurrent('a call', () => {
  let world: World
  type Tools = Record<ToolClass, EffectTool> & { byMeaning: EffectTool; echo: typeof echo; strict: typeof strict; patient: EffectTool }
  let scripts: Scripts<Tools>

  beforeAll(async () => {
    world = await World.open((tools, effects) => {
      scripts = new Scripts<Tools>({
        ...tools, echo, strict,
        byMeaning: effectTool(effects, { name: 'by-meaning', via: 'keyed', effect: 'idempotent', concurrent: true, key: ({ subject }) => [subject], retry: { attempts: 1 } }),
        patient: effectTool(effects, { name: 'patient', via: 'keyed', effect: 'idempotent', concurrent: true, retry: { attempts: 3, firstDelayMs: 20 } }),
      })
      return [scripts.agent]
    })
  })
  afterAll(() => world.close())

  const completed = async (runId: string) => expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })
  /** The first attempt dies at its finish, the second replays everything. */
  async function replayed<T>(body: Parameters<typeof scripts.start>[1]['run'], seen: T[]): Promise<void> {
    const id = newRunId()
    const fault = world.workers.fault({ runId: id, at: 'before-finish', seq: 1, does: 'freeze' })
    await scripts.start(world, { run: body }, { id })
    await fault.struck
    await completed(id)
    expect(seen).toHaveLength(2)
  }

  test.each([
    ['the string "123"', '123'], ['"true"', 'true'], ['"null"', 'null'], ['"1e3"', '1e3'], ['an empty string', ''], ['123', 123], ['null', null],
    ['text with NUL', 'ok\u0000'], ['a lone surrogate', '\ud800'], ['bytes', new Uint8Array(100_000).map((_, i) => i % 256)],
    ['a bigint', 9007199254740993n], ['a long amount as text', '5810142810638157171'], ['minus zero', -0],
    ['Date, Map, Set, NaN, Infinity, undefined, nested', { at: new Date(0), map: new Map([['a', [1n]]]), set: new Set([1]), nan: Number.NaN, inf: -Infinity, none: undefined }],
  ])('%s comes back from the ledger as what it was (cases 61-64)', async (name, value) => {
    const seen: unknown[] = []
    await replayed(async ({ tools }) => { seen.push(await tools.echo({ name, value })) }, seen)
    expect(seen[0]).toStrictEqual(value)
    expect(seen[1]).toStrictEqual(value)
    expect(given.get(name)).toHaveLength(1)
  })

  test('a payload and the arguments made of it are the same, in type and bytes, on the first send and on the one after a crash (case 64)', async () => {
    const id = newRunId()
    const value = { at: new Date(0), map: new Map([['a', [1n]]]), set: new Set([-0]), nan: Number.NaN, none: undefined, bytes: new Uint8Array([0, 255]), text: 'a\u0000b\ud800', id: '9007199254740993' }
    const fault = world.workers.fault({ runId: id, at: 'after-answer', tool: 'echo', does: 'freeze' })
    await scripts.start(world, { run: async ({ payload, tools }) => { await tools.echo({ name: 'sent again', value: payload }) } }, { id, items: [{ key: 'only', payload: value }] })
    await fault.struck
    await completed(id)
    expect(given.get('sent again')).toStrictEqual([value, value])
  })

  test('what the agent does to a result afterwards does not reach the journal (hole 20)', async () => {
    const seen: unknown[] = []
    const shared = { list: [1] }
    returned.set('mutable', shared)
    await replayed(async ({ tools }) => {
      const result = (await tools.echo({ name: 'mutable' })) as { list: number[] }
      result.list.push(2)
      shared.list.push(3)
      seen.push([...result.list])
      await tools.keyed({ subject: 'after mutation' })
    }, seen)
    expect(seen).toEqual([[1, 2], [1, 2]])
  })

  test('a result that cannot be kept is committed with a marker, blocked tool_output, and not sent again (hole 32)', async () => {
    returned.set('unkeepable', { inside: () => 1 })
    let runs = 0
    const runId = await scripts.start(world, { run: async ({ tools }) => { runs++; await tools.echo({ name: 'unkeepable' }) } })
    const item = await world.blocked(runId, 'tool_output')
    expect(item.blocked_detail).toContain('cannot keep')
    expect(await world.actions(runId)).toMatchObject([{ status: 'committed' }])
    expect(runs).toBe(1)
  })

  test('the marker of a result that could not be kept is never given to the agent: resumed, the item blocks again', async () => {
    returned.set('unkeepable too', { inside: () => 1 })
    const got: unknown[] = []
    const runId = await scripts.start(world, { run: async ({ tools }) => { got.push(await tools.echo({ name: 'unkeepable too' })) } })
    const item = await world.blocked(runId, 'tool_output')
    await releaseItem(world.workers.ledger, runId, item.seq, 'resume', { actor: 'ann' })
    world.workers.touch(runId)
    await until('it was tried again', async () => (await world.item(runId)).attempts === 2 && (await world.item(runId)).status !== 'in_progress')
    expect(await world.item(runId)).toMatchObject({ status: 'blocked', blocked_reason: 'tool_output' })
    expect(got).toEqual([])
  })

  test('a result that does not fit outputSchema is unsettled, never failed (case 12)', async () => {
    const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.strict({ value: 'not a number' }) } })
    await world.blocked(runId, 'in_doubt')
    const [action] = await world.actions(runId)
    expect(action).toMatchObject({ status: 'in_doubt' })
    expect(action?.evidence.join()).toContain('misfit')
  })

  test('a later failure replays the finished call and repeats only what failed (case 16)', async () => {
    let tries = 0
    const runId = await scripts.start(world, {
      run: async ({ tools }) => {
        await tools.opaque({ subject: 'charged once' })
        if (++tries < 3) throw new Error('the model answered 500')
      },
    })
    await completed(runId)
    expect(tries).toBe(3)
    expect(world.effects.receipts({ subject: 'charged once' })).toHaveLength(1)
  })

  test('calls in a loop are told apart, and a crash between them repeats none (case 32)', async () => {
    const id = newRunId()
    const fault = world.workers.fault({ runId: id, at: 'before-intent', nth: 3, does: 'freeze' })
    await scripts.start(world, { run: async ({ tools }) => { for (const n of [1, 2, 3]) await tools.opaque({ subject: `invoice ${n}` }) } }, { id })
    await fault.struck
    await completed(id)
    for (const n of [1, 2, 3]) expect(world.effects.receipts({ subject: `invoice ${n}` })).toHaveLength(1)
  })

  test('parallel calls that finish in another order on replay get their own results (case 32, hole 7)', async () => {
    const seen: unknown[] = []
    let attempt = 0
    await replayed(async ({ tools }) => {
      const isReversed = attempt++ > 0
      const call = async (n: number) => {
        if (isReversed) await new Promise((resolve) => setTimeout(resolve, (4 - n) * 15))
        return (await tools.byMeaning({ subject: `branch ${n}` })).ref
      }
      seen.push(await Promise.all([1, 2, 3].map(call)))
    }, seen)
    expect(seen[1]).toEqual(seen[0])
    for (const n of [1, 2, 3]) expect(world.effects.receipts({ subject: `branch ${n}` })).toHaveLength(1)
  })

  test('the same key with other args stops the item before anything is sent (conflict)', async () => {
    let attempt = 0
    const runId = await scripts.start(world, {
      run: async ({ tools }) => {
        attempt++
        await tools.keyed({ subject: 'reworded', note: `memo ${attempt}` })
        if (attempt === 1) throw new Error('again')
      },
    })
    const item = await world.blocked(runId, 'conflict')
    expect(item.blocked_detail).toContain('attempted')
    expect(world.effects.receipts({ subject: 'reworded' })).toHaveLength(1)
  })

  test.each([
    ['calls were swapped', ['swap b', 'swap a']],
    ['the key function changed', ['other key', 'swap b']],
  ])('a write that is not in the journal while the journal holds one not asked for is held: %s (hole 7)', async (name, second) => {
    const id = newRunId()
    const subjects = (list: readonly string[]) => ({ run: async ({ tools }: Parameters<typeof scripts.start>[1]['run'] extends (call: infer C) => unknown ? C : never) => { for (const one of list) await tools.byMeaning({ subject: `${name}: ${one}` }) } })
    const fault = world.workers.fault({ runId: id, at: 'before-intent', nth: 2, does: 'freeze' })
    await scripts.start(world, subjects(['swap a', 'swap b']), { id })
    await fault.struck
    scripts.replace(id, subjects(second))
    const item = await world.blocked(id, 'diverged')
    expect(item.blocked_detail).toContain('recorded')
    expect(world.effects.receipts({ subject: `${name}: ${second[0]}` })).toHaveLength(0)
  })

  test('a branch that comes late on replay is waited for as long as anything of the item is under way (hole 7)', async () => {
    const id = newRunId()
    let attempt = 0
    world.effects.program('slow read', [{}, { delayBeforeMs: 1_000 }])
    const fault = world.workers.fault({ runId: id, at: 'before-finish', seq: 1, does: 'freeze' })
    await scripts.start(world, {
      run: async ({ tools }) => {
        const isAgain = attempt++ > 0
        const late = async () => {
          if (isAgain) await tools.read({ subject: 'slow read' }, { key: 'second' })
          await tools.byMeaning({ subject: 'late branch' })
        }
        await Promise.all([late(), isAgain ? tools.byMeaning({ subject: 'new branch' }) : tools.read({ subject: 'slow read' })])
      },
    }, { id })
    await fault.struck
    await completed(id)
    expect(await world.applied('new branch')).toBe(1)
    expect(world.effects.receipts({ subject: 'late branch' })).toHaveLength(1)
  })

  test('a refusal the agent acted on replays as the same error; the refused call is not sent behind its back (hole 6a)', async () => {
    const id = newRunId()
    world.effects.program('declined', [{ refuse: 400 }])
    const fault = world.workers.fault({ runId: id, at: 'before-finish', seq: 1, does: 'freeze' })
    const run = async ({ tools }: { tools: { byMeaning: (input: { subject: string }) => Promise<unknown> } }) => {
      await tools.byMeaning({ subject: 'declined' }).catch(async (error: unknown) => {
        expect(error).toBeInstanceOf(ToolFailed)
        await tools.byMeaning({ subject: 'the other card' })
      })
    }
    await scripts.start(world, { run }, { id })
    await fault.struck
    await completed(id)
    expect(await world.applied('declined')).toBe(0)
    expect(await world.applied('the other card')).toBe(1)
  })

  test('a refusal nothing came after is sent again by the next attempt, and by resume (hole 6b)', async () => {
    world.effects.program('declined at first', [{ refuse: 400 }, { refuse: 400 }])
    const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.byMeaning({ subject: 'declined at first' }) } }, { policy: { maxFailures: 2 } })
    expect(await world.workers.runIs(runId)).toMatchObject({ status: 'failed' })
    await resumeRun(world.workers.ledger, runId, 'ann')
    world.workers.touch(runId)
    await completed(runId)
    expect(await world.applied('declined at first')).toBe(1)
    expect(world.effects.receipts({ subject: 'declined at first' })).toHaveLength(3)
  })

  test('siblings refused together are all sent again: being under way beside each other is not acting on an error (hole 6b)', async () => {
    const names = ['twin a', 'twin b', 'twin c']
    for (const name of names) world.effects.program(name, [{ refuse: 401 }])
    const runId = await scripts.start(world, { run: async ({ tools }) => { await Promise.all(names.map((subject) => tools.byMeaning({ subject }))) } }, { policy: { maxFailures: 1 } })
    expect(await world.workers.runIs(runId)).toMatchObject({ status: 'failed' })
    await resumeRun(world.workers.ledger, runId, 'ann')
    world.workers.touch(runId)
    await completed(runId)
    for (const name of names) expect(await world.applied(name)).toBe(1)
  })

  test('a handler that returns without awaiting its call is done only when the call is (hole 11)', async () => {
    world.effects.program('not awaited', [{ delayBeforeMs: 300 }])
    const runId = await scripts.start(world, { run: ({ tools }) => { void tools.opaque({ subject: 'not awaited' }); return Promise.resolve() } })
    await completed(runId)
    expect(await world.actions(runId)).toMatchObject([{ status: 'committed' }])
  })

  test('a dropped call that is refused does not end the process, and its item is still done', async () => {
    world.effects.program('dropped', [{ refuse: 400 }])
    const runId = await scripts.start(world, { run: ({ tools }) => { void tools.byMeaning({ subject: 'dropped' }); return Promise.resolve() } })
    await completed(runId)
    expect(await world.actions(runId)).toMatchObject([{ status: 'failed' }])
  })

  test('racing a call that must wait against a timer never makes an item done (hole 11)', async () => {
    world.effects.program('raced', [{ drop: 'after' }])
    const caught: unknown[] = []
    const runId = await scripts.start(world, {
      run: async ({ tools }) => {
        try {
          await Promise.race([tools.opaque({ subject: 'raced' }), new Promise((resolve) => setTimeout(resolve, 4_000))])
          await tools.keyed({ subject: 'after the race' })
        } catch (error) {
          caught.push(error)
        }
        return { result: 'too early' }
      },
    })
    await world.blocked(runId, 'in_doubt')
    await new Promise((resolve) => setTimeout(resolve, 4_200))
    expect(await world.item(runId)).toMatchObject({ status: 'blocked', result: null })
    expect(caught).toEqual([])
    expect(world.effects.receipts({ subject: 'after the race' })).toHaveLength(0)
  })

  test('when one of three parallel calls must wait, its siblings finish first, once each (hole 21, case 17)', async () => {
    world.effects.program('waits for a person', [{ drop: 'after' }])
    for (const sibling of ['sibling a', 'sibling c']) world.effects.program(sibling, [{ delayBeforeMs: 700 }])
    const runId = await scripts.start(world, { run: async ({ tools }) => { await Promise.all(['sibling a', 'waits for a person', 'sibling c'].map((subject) => tools.opaque({ subject }))) } })
    await world.blocked(runId, 'in_doubt')
    expect((await world.actions(runId)).map((action) => action.status).toSorted()).toEqual(['committed', 'committed', 'in_doubt'])
    await world.answer(runId, 'happened', '{"ref":"seen"}')
    await completed(runId)
    for (const subject of ['sibling a', 'waits for a person', 'sibling c']) expect(world.effects.receipts({ subject })).toHaveLength(1)
  })

  test('what breaks inside Pawl is never thrown to the agent: the attempt ends, and the call is settled', async () => {
    const id = newRunId()
    const caught: unknown[] = []
    world.workers.fault({ runId: id, at: 'before-send', does: 'throw' })
    await scripts.start(world, {
      run: async ({ tools }) => {
        await tools.lookup({ subject: 'broken inside' }).catch(async (error: unknown) => { caught.push(error); await tools.keyed({ subject: 'wrong turn' }) })
      },
    }, { id })
    await completed(id)
    expect(caught).toEqual([])
    expect(world.effects.receipts({ subject: 'wrong turn' })).toHaveLength(0)
    expect(world.effects.receipts({ subject: 'broken inside' })).toHaveLength(1)
    expect(await world.item(id)).toMatchObject({ failures: 1, attempts: 2 })
  })

  test('the same call twice in one attempt is one call, also when it must wait', async () => {
    world.effects.program('asked twice', [{ drop: 'after' }])
    const caught: unknown[] = []
    const runId = await scripts.start(world, {
      run: async ({ tools }) => {
        const call = () => tools.opaque({ subject: 'asked twice' }, { key: 'same' }).catch((error: unknown) => { caught.push(error); return { ref: 'caught' } })
        const [one, two] = await Promise.all([call(), call()])
        return { result: [one.ref, two.ref] }
      },
    })
    await world.answer(runId, 'happened', '{"ref":"seen"}')
    await completed(runId)
    expect(caught).toEqual([])
    expect(world.effects.receipts({ subject: 'asked twice' })).toHaveLength(1)
  })

  test('refused args that are corrected get a row of their own, ~2 (hole 28)', async () => {
    world.effects.program('corrected', [{ refuse: 400 }, {}])
    const runId = await scripts.start(world, {
      run: async ({ tools }) => {
        const result = await tools.byMeaning({ subject: 'corrected', note: 'bad' }).catch(() => tools.byMeaning({ subject: 'corrected', note: 'good' }))
        return { result }
      },
    })
    await completed(runId)
    const actions = await world.actions(runId)
    expect(actions.map((action) => action.status)).toEqual(['failed', 'committed'])
    expect(actions[1]?.key).toBe(`${actions[0]?.key}~2`)
    expect(await world.applied('corrected')).toBe(1)
  })

  test('other args beside a call of the same meaning that is under way are a conflict, not a second effect', async () => {
    world.effects.program('two minds', [{ refuse: 429, retryAfterSeconds: 1 }])
    const runId = await scripts.start(world, {
      run: async ({ tools }) => { await Promise.all([tools.byMeaning({ subject: 'two minds', note: 'a' }), world.effects.received('two minds', 1).then(() => tools.byMeaning({ subject: 'two minds', note: 'b' }))]) },
    })
    await world.blocked(runId, 'conflict')
    expect(await world.applied('two minds')).toBeLessThanOrEqual(1)
    expect((await world.actions(runId)).length).toBe(1)
  })

  test('a provider that answers 429 ten times spends neither retries, failures nor crash budget (case 48)', async () => {
    world.effects.program('limited', Array.from({ length: 10 }, () => ({ refuse: 429, retryAfterSeconds: 0 })))
    const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.patient({ subject: 'limited' }) } }, { policy: { maxFailures: 1 } })
    await completed(runId)
    expect(await world.item(runId)).toMatchObject({ failures: 0, attempts: 1 })
    expect(await world.applied('limited')).toBe(1)
  })

  test('a long Retry-After gives the worker back, and the count of spent retries is not forgotten meanwhile', async () => {
    world.effects.program('long pause', Array.from({ length: 5 }, () => ({ refuse: 400, retryAfterSeconds: 3 })))
    const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.patient({ subject: 'long pause' }) } }, { policy: { maxFailures: 1 } })
    expect(await world.workers.runIs(runId)).toMatchObject({ status: 'failed' })
    expect(world.effects.receipts({ subject: 'long pause' })).toHaveLength(3)
    expect((await world.item(runId)).attempts).toBe(3)
  })

  test('a read that crashed attempts left behind has all its retries still', async () => {
    const id = newRunId()
    for (let i = 0; i < 2; i++) world.workers.fault({ runId: id, at: 'after-answer', tool: 'read', does: 'freeze' })
    world.effects.program('read again', [{}, {}, { errorAfter: 500 }, { errorAfter: 500 }])
    await scripts.start(world, { run: async ({ tools }) => { await tools.read({ subject: 'read again' }) } }, { id, policy: { maxFailures: 1 } })
    await completed(id)
    expect(world.effects.receipts({ subject: 'read again' })).toHaveLength(5)
  })

  test('two items with one key: the second waits, gets the recorded result, and nothing is sent twice (hole 25)', async () => {
    world.effects.program('shared', [{ hold: 'before' }])
    const runId = await scripts.start(world, {
      run: async ({ tools }) => ({ result: (await tools.byMeaning({ subject: 'shared' })).ref }),
    }, { items: [{ key: 'a', payload: 1 }, { key: 'b', payload: 2 }] })
    await world.effects.received('shared', 1)
    await world.blocked(runId, 'key')
    world.effects.release('shared')
    await completed(runId)
    const results = (await world.items(runId)).filter((item) => item.kind === 'work').map((item) => item.result)
    expect(results[0]).toBe(results[1])
    expect(world.effects.receipts({ subject: 'shared' })).toHaveLength(1)
  })

  test('the key of an owner that failed for good is taken over; other args under it are a conflict (hole 25)', async () => {
    world.effects.program('taken over', [{ refuse: 400 }])
    const runId = await scripts.start(world, {
      run: async ({ payload, tools }) => {
        if (payload === 'late') await until('the owner has failed', async () => (await world.item(id)).status === 'failed')
        await tools.byMeaning({ subject: 'taken over' })
      },
    }, { id: newRunId(), items: [{ key: 'owner', payload: 'first' }, { key: 'late', payload: 'late' }], policy: { maxFailures: 1 } })
    const id = runId
    expect(await world.workers.runIs(runId)).toMatchObject({ status: 'failed' })
    expect((await world.items(runId)).slice(0, 2).map((item) => item.status)).toEqual(['failed', 'done'])
    expect(await world.applied('taken over')).toBe(1)
    const conflicting = await scripts.start(world, {
      run: async ({ payload, tools }) => { await tools.byMeaning({ subject: 'one meaning', note: String(payload) }) },
    }, { items: [{ key: 'a', payload: 1 }, { key: 'b', payload: 2 }] })
    await world.blocked(conflicting, 'conflict')
    expect(await world.applied('one meaning')).toBe(1)
  })
})

describe('a process whose event loop stands still', () => {
  let world: World
  let scripts: Scripts<Record<ToolClass, EffectTool>>
  beforeAll(async () => {
    world = await World.open((tools) => [(scripts = new Scripts(tools)).agent])
  })
  afterAll(() => world.close())

  test('an event loop blocked past the send window writes nothing; the intent is unsent and sent again (holes 6c and 8)', async () => {
    const id = newRunId()
    const fault = world.workers.fault({ runId: id, at: 'before-send', does: 'freeze' })
    void fault.struck.then(() => {
      const until = Date.now() + 1_300
      while (Date.now() < until);
      fault.thaw()
    })
    await scripts.start(world, { run: async ({ tools }) => { await tools.opaque({ subject: 'blocked loop' }) } }, { id })
    expect((await world.workers.runIs(id)).status).toBe('completed')
    const [action] = await world.actions(id)
    expect(action).toMatchObject({ status: 'committed', refused: 1 })
    expect(world.effects.receipts({ subject: 'blocked loop' })).toHaveLength(1)
  })
})
