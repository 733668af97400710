/** A run from its first item to its one ending: pause, stop, cancel, resume, policies, finalizer, compensation. */
import { newRunId } from '@pawl/core'
import { auditLedger, cancelRun, freeLeases, listInbox, pauseRun, releaseItem, resumeRun, startCompensation } from '@pawl/ledger'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { Scripts, type Script } from './scripted.testsuite.ts'
import { effectTool, until, World, type EffectTool, type ToolClass } from './world.testsuite.ts'

// Deadlines end broken tests only; a busy machine is no defect.
vi.setConfig({ testTimeout: 90_000 })

describe('a run', () => {
  let world: World
  type Tools = Record<ToolClass, EffectTool> & { byMeaning: EffectTool; hasty: EffectTool; stubborn: EffectTool; unfit: EffectTool }
  let scripts: Scripts<Tools>

  beforeAll(async () => {
    world = await World.open((tools, effects) => {
      const stubbornUndo = effectTool(effects, { name: 'stubborn.undo', via: 'keyed', op: 'undo', effect: 'idempotent', concurrent: true, retry: { attempts: 1 } })
      scripts = new Scripts<Tools>({
        ...tools,
        byMeaning: effectTool(effects, { name: 'by-meaning', via: 'keyed', effect: 'idempotent', concurrent: true, key: ({ subject }) => [subject], retry: { attempts: 1 } }),
        hasty: effectTool(effects, { name: 'hasty', via: 'lookup', effect: 'non-idempotent', timeout: 1_000, settleWindow: 1_500, verify: tools.lookup.verify!,
          // Needs the result: it cannot be known with the intent.
          undo: { tool: tools.lookup.undo!.tool, input: ({ input, result }) => ({ subject: input.subject, note: result.ref }) } }),
        unfit: effectTool(effects, { name: 'unfit', via: 'keyed', effect: 'idempotent', concurrent: true, undo: { tool: stubbornUndo, input: () => ({ nonsense: true }) } }),
        stubborn: effectTool(effects, { name: 'stubborn', via: 'keyed', effect: 'idempotent', concurrent: true, undo: { tool: stubbornUndo, input: ({ input }) => ({ subject: input.subject }) } }),
      })
      return [scripts.agent]
    })
  })
  afterAll(() => world.close())

  const ends = async (runId: string, status: string) => expect((await world.workers.runIs(runId)).status).toBe(status)
  const items = (n: number) => Array.from({ length: n }, (_, i) => ({ key: `item ${i}`, payload: i }))
  const endings = async (runId: string) => (await world.rows(`select 1 from pawl.events where run_id = $1 and kind = 'run.ended'`, [runId])).length
  const undone = (prefix: string) => world.effects.receipts({ op: 'undo' }).filter((receipt) => receipt.applied && receipt.subject.startsWith(prefix)).map((receipt) => receipt.subject)
  const resume = async (runId: string) => {
    const answer = await resumeRun(world.workers.ledger, runId, 'ann')
    world.workers.touch(runId)
    return answer
  }

  describe.concurrent('closes', () => {
    test.each([[0], [1], [7]])('once, with %i items, and its finalizer sees them all (case 84)', async (n) => {
      const runId = await scripts.start(world, { run: () => Promise.resolve(), finalize: ({ run }) => Promise.resolve({ result: run.tally }) }, { items: items(n) })
      await ends(runId, 'completed')
      const [run] = await world.rows<{ result: string }>('select result from pawl.runs where id = $1', [runId])
      expect(JSON.parse(run?.result ?? '')).toEqual({ done: n, failed: 0, cancelled: 0, total: n })
      expect(await endings(runId)).toBe(1)
    })

    test('only after items that were added while others finished (ctx.addItems, case 84)', async () => {
      const runId = await scripts.start(world, {
        run: async ({ payload, ctx }) => {
          const depth = payload as number
          if (depth < 3) await ctx.addItems([{ key: `child ${depth}`, payload: depth + 1 }])
        },
        finalize: ({ run }) => Promise.resolve({ result: run.tally.done }),
      }, { items: [{ key: 'root', payload: 0 }] })
      await ends(runId, 'completed')
      expect((await world.items(runId)).filter((item) => item.kind === 'work').map((item) => item.key)).toEqual(['root', 'child 0', 'child 1', 'child 2'])
    })

    test('and not never, when its finalizer tries to add items: that is an error of the agent\'s', async () => {
      const runId = await scripts.start(world, { run: () => Promise.resolve(), finalize: async ({ ctx }) => { await ctx.addItems([{ key: 'late', payload: 1 }]) } }, { policy: { maxFailures: 1 } })
      await ends(runId, 'failed')
      expect((await world.items(runId)).at(-1)?.error).toContain('RUN_CLOSED')
    })

    test('an item that adds items twice, because it died in between, adds them once', async () => {
      const id = newRunId()
      const fault = world.workers.fault({ runId: id, at: 'before-finish', seq: 1, does: 'freeze' })
      await scripts.start(world, { run: async ({ payload, ctx }) => { if (payload === 0) await ctx.addItems([{ key: 'more', payload: 1 }]) } }, { id, items: items(1) })
      await fault.struck
      await ends(id, 'completed')
      expect((await world.items(id)).filter((item) => item.kind === 'work')).toHaveLength(2)
    })

    test('once, when its last item is delivered three times more around the closing (case 83)', async () => {
      const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.opaque({ subject: 'delivered again' }) } }, { items: items(1) })
      let bell: { generation: number; ledger: string } | undefined
      await until('the item is rung for', async () => {
        [bell] = await world.rows<{ generation: number; ledger: string }>('select i.generation, (select id::text from pawl.ledger) as ledger from pawl.items i where run_id = $1', [runId])
        return (bell?.generation ?? 0) > 0
      })
      const again = () => world.workers.workers.map((worker) => worker.handle({ ledgerId: bell?.ledger ?? '', runId, seq: 1, generation: 1 }))
      const answers = await Promise.all([...again(), world.workers.runIs(runId).then(() => Promise.all(again()))])
      await ends(runId, 'completed')
      expect(answers.flat().filter((answer) => answer === 'closed' || answer === 'leased').length).toBeGreaterThan(0)
      expect(await endings(runId)).toBe(1)
      expect(world.effects.receipts({ subject: 'delivered again' })).toHaveLength(1)
    })

    test('a split that dies goes on by key: every item is there once, and nothing ran before the seal', async () => {
      const id = newRunId()
      const fault = world.workers.fault({ runId: id, at: 'before-seal', does: 'freeze' })
      const ran: string[] = []
      await scripts.start(world, { split: () => items(3), run: ({ ctx }) => { ran.push(ctx.item.key); return Promise.resolve() } }, { id })
      await fault.struck
      expect(ran).toEqual([])
      await ends(id, 'completed')
      expect(ran.toSorted((a, b) => a.localeCompare(b))).toEqual(['item 0', 'item 1', 'item 2'])
      fault.thaw()
      await world.workers.quiet(id)
      expect((await world.items(id)).filter((item) => item.kind === 'work')).toHaveLength(3)
    })
  })

  describe.concurrent('that fails in part', () => {
    const failing: Script<Tools> = {
      run: async ({ payload, tools, ctx }) => {
        await tools.keyed({ subject: `${ctx.run.id} ${String(payload)}` })
        if (payload === 1) throw new Error('cannot')
      },
      finalize: ({ run }) => Promise.resolve({ result: run.tally }),
    }

    test('is held by default, waits for a person, and completes when it is resumed (case 84)', async () => {
      let isMended = false
      const runId = await scripts.start(world, { ...failing, run: async (call) => { if (!isMended) await failing.run(call); else await call.tools.keyed({ subject: `${call.ctx.run.id} ${String(call.payload)}` }) } },
        { items: items(3), policy: { maxFailures: 1 } })
      await ends(runId, 'failed')
      isMended = true
      expect(await resume(runId)).toMatchObject({ outcome: 'resumed', reopened: 1 })
      await ends(runId, 'completed')
      for (let n = 0; n < 3; n++) expect(world.effects.receipts({ subject: `${runId} ${n}` })).toHaveLength(1)
    })

    test('completes with failures where the policy says so; resumed, a second finalizer closes it although its call has a key (hole 34)', async () => {
      let isMended = false
      const runId = await scripts.start(world, {
        run: ({ payload }) => (payload === 1 && !isMended ? Promise.reject(new Error('cannot')) : Promise.resolve()),
        finalize: async ({ run, tools }) => { await tools.byMeaning({ subject: `report ${run.id}`, note: `${run.tally.done} done` }) },
      }, { items: items(3), policy: { maxFailures: 1, onFailure: 'complete' } })
      await ends(runId, 'completed_with_failures')
      isMended = true
      await resume(runId)
      await ends(runId, 'completed')
      expect(world.effects.receipts({ subject: `report ${runId}` }).length).toBe(2)
      expect(await endings(runId)).toBe(2)
    })

    test('is compensated where the policy says so, and says what is left: the residue', async () => {
      const runId = await scripts.start(world, {
        run: async ({ tools, ctx }) => {
          await tools.keyed({ subject: `undoable ${ctx.run.id}` })
          await tools.byMeaning({ subject: `no undo ${ctx.run.id}` })
          throw new Error('cannot')
        },
      }, { policy: { maxFailures: 1, onFailure: 'compensate' } })
      await ends(runId, 'compensated_with_residue')
      expect(await world.applied(`undoable ${runId}`, 'undo')).toBe(1)
      const [event] = await world.rows<{ data: { residue: number } }>(`select data from pawl.events where run_id = $1 and kind = 'run.ended'`, [runId])
      expect(event?.data.residue).toBe(1)
    })

    test('twenty people resume it at once: one driver, every call once (case 91)', async () => {
      let isMended = false
      const runId = await scripts.start(world, {
        run: async ({ payload, tools, ctx }) => {
          if (!isMended) throw new Error('cannot')
          await tools.opaque({ subject: `resumed ${ctx.run.id} ${String(payload)}` })
        },
      }, { items: items(4), policy: { maxFailures: 1 } })
      await ends(runId, 'failed')
      isMended = true
      const answers = await Promise.all(Array.from({ length: 20 }, () => resume(runId)))
      expect(answers.reduce((sum, answer) => sum + answer.reopened, 0)).toBe(4)
      await ends(runId, 'completed')
      for (let n = 0; n < 4; n++) expect(world.effects.receipts({ subject: `resumed ${runId} ${n}` })).toHaveLength(1)
    })
  })

  describe.concurrent('compensation', () => {
    test('undoes newest first by the order of the sends that counted, not of the first tries (case 81, hole 24)', async () => {
      world.effects.program('order a', [{ refuse: 429, retryAfterSeconds: 1 }])
      const runId = await scripts.start(world, {
        run: async ({ tools }) => {
          await Promise.all([tools.keyed({ subject: 'order a' }), world.effects.received('order a', 1).then(() => tools.keyed({ subject: 'order b' }))])
          await tools.keyed({ subject: 'order c' })
          throw new Error('cannot')
        },
      }, { policy: { maxFailures: 1, onFailure: 'compensate' } })
      await ends(runId, 'compensated')
      expect(undone('order')).toEqual(['order c', 'order a', 'order b'])
    })

    test('settles first: the step whose answer was lost is undone too, the refused one is not (case 76)', async () => {
      world.effects.program('net 2', [{ drop: 'after' }])
      world.effects.program('net 3', [{ refuse: 400 }])
      const runId = await scripts.start(world, {
        run: async ({ tools }) => { await tools.lookup({ subject: 'net 1' }); await tools.lookup({ subject: 'net 2' }); await tools.byMeaning({ subject: 'net 3' }) },
      }, { policy: { maxFailures: 1, onFailure: 'compensate' } })
      await ends(runId, 'compensated')
      expect(undone('net')).toEqual(['net 2', 'net 1'])
      expect(world.effects.receipts({ subject: 'net 2', op: 'do' })).toHaveLength(1)
      expect(await world.applied('net 3')).toBe(0)
    })

    test('never overtakes the call it undoes: nothing is undone while that call is unsettled (case 77)', async () => {
      world.effects.program('overtaken', [{ delayBeforeMs: 2_000 }])
      const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.hasty({ subject: 'overtaken' }) } })
      await world.effects.received('overtaken', 1)
      await until('its deadline is over', async () => (await world.actions(runId))[0]?.status === 'started')
      expect((await startCompensation(world.workers.ledger, runId, 'ann', null)).outcome).toBe('started')
      world.workers.touch(runId)
      await ends(runId, 'compensated')
      expect(world.effects.receipts({ subject: 'overtaken' }).filter((receipt) => receipt.applied).map((receipt) => receipt.op)).toEqual(['do', 'undo'])
    })

    test('a failing undo stops the rest and waits for a person; repaired, it goes on where it was (case 78)', async () => {
      for (const n of [1, 2, 3, 4]) world.effects.program(`half ${n}`, n === 3 ? [{}, { refuse: 400 }] : [])
      const runId = await scripts.start(world, {
        run: async ({ tools }) => { for (const n of [1, 2, 3, 4]) await tools.stubborn({ subject: `half ${n}` }); throw new Error('cannot') },
      }, { policy: { maxFailures: 1, onFailure: 'compensate' } })
      const item = await world.blocked(runId, 'undo')
      expect(undone('half')).toEqual(['half 4'])
      expect(await releaseItem(world.workers.ledger, runId, item.seq, 'resume', { actor: 'ann' })).toMatchObject({ outcome: 'released' })
      world.workers.touch(runId)
      await ends(runId, 'compensated')
      expect(undone('half')).toEqual(['half 4', 'half 3', 'half 2', 'half 1'])
    })

    test.each([
      ['refused', 'stubborn', 'for good 3'], ['its input does not fit', 'unfit', 'unmade 3'],
    ] as const)('an undo that can never succeed (%s) is given up by a person: its write is residue, the rest is undone, the run closes', async (_, tool, bad) => {
      const name = bad.slice(0, -2)
      for (const n of [1, 2, 3, 4]) world.effects.program(`${name} ${n}`, n === 3 && tool === 'stubborn' ? [{}, ...Array.from({ length: 9 }, () => ({ refuse: 400 }))] : [])
      const runId = await scripts.start(world, {
        run: async ({ tools }) => { for (const n of [1, 2, 3, 4]) await tools[n === 3 ? tool : 'keyed']({ subject: `${name} ${n}` }); throw new Error('cannot') },
      }, { policy: { maxFailures: 1, onFailure: 'compensate' } })
      const item = await world.blocked(runId, 'undo')
      expect((await listInbox(world.workers.ledger, { namespace: null, runId })).entries).toMatchObject([{ reason: 'undo', verbs: ['resume', 'fail'] }])
      expect(await releaseItem(world.workers.ledger, runId, item.seq, 'fail', { actor: 'ann' })).toMatchObject({ outcome: 'released', status: 'pending' })
      world.workers.touch(runId)
      await ends(runId, 'compensated_with_residue')
      expect(undone(name)).toEqual([4, 2, 1].map((n) => `${name} ${n}`))
      expect((await auditLedger(world.workers.ledger, { runId })).violations).toEqual([])
    })

    test('a call settled by a zombie\'s proof is undone like any other', async () => {
      const id = newRunId()
      const fault = world.workers.fault({ runId: id, at: 'after-answer', does: 'freeze' })
      await scripts.start(world, { run: async ({ tools }) => { await tools.hasty({ subject: 'proved late' }); throw new Error('cannot') } }, { id, policy: { maxFailures: 1, onFailure: 'compensate' } })
      await fault.struck
      await until('it is taken over', async () => (await world.item(id)).attempts > 1)
      fault.thaw()
      await ends(id, 'compensated')
      expect(await world.applied('proved late', 'undo')).toBe(1)
    })
  })

  describe.concurrent('compensation of a call that a person settled', () => {
    test('undoes it in its place, with the inverse that follows from the person\'s result', async () => {
      world.effects.program('person 1', [{ drop: 'after' }])
      const runId = await scripts.start(world, {
        run: async ({ tools }) => { await tools.opaque({ subject: 'person 1' }); await tools.keyed({ subject: 'person 2' }); throw new Error('cannot') },
      }, { policy: { maxFailures: 1, onFailure: 'compensate' } })
      await world.answer(runId, 'happened', '{"ref":"read off a screen"}')
      await ends(runId, 'compensated')
      expect(undone('person')).toEqual(['person 2', 'person 1'])
    })

    test('closes with residue when a person gives up on that undo too', async () => {
      world.effects.program('given up', [{ drop: 'after' }, ...Array.from({ length: 40 }, () => ({ drop: 'before' as const }))])
      const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.opaque({ subject: 'given up' }); throw new Error('cannot') } }, { policy: { maxFailures: 1, onFailure: 'compensate' } })
      await world.answer(runId, 'happened', '{"ref":"read off a screen"}')
      await world.workers.runIs(runId, ['compensating'])
      await world.answer(runId, 'abandon')
      await ends(runId, 'compensated_with_residue')
    })

    test('names it as residue where the person knew no result', async () => {
      world.effects.program('no result', [{ drop: 'after' }])
      const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.opaque({ subject: 'no result' }); throw new Error('cannot') } }, { policy: { maxFailures: 1, onFailure: 'compensate' } })
      await world.answer(runId, 'happened')
      await ends(runId, 'compensated_with_residue')
      expect(await world.applied('no result', 'undo')).toBe(0)
    })
  })

  describe.concurrent('cancelled', () => {
    test('while a call is in flight stays cancelled; the call is recorded as what it was and can be compensated (case 86)', async () => {
      world.effects.program('in flight', [{ hold: 'before' }])
      const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.opaque({ subject: 'in flight' }); await tools.opaque({ subject: 'after cancel' }) } })
      await world.effects.received('in flight', 1)
      expect(await cancelRun(world.workers.ledger, runId, 'ann', null)).toMatchObject({ outcome: 'cancelled', unsettled: 1 })
      world.workers.touch(runId)
      world.effects.release('in flight')
      await until('the call is settled', async () => (await world.actions(runId))[0]?.status === 'committed')
      await until('nothing is live', async () => (await world.items(runId)).every((item) => item.status === 'cancelled' || item.status === 'done'))
      await ends(runId, 'cancelled')
      expect(world.effects.receipts({ subject: 'after cancel' })).toHaveLength(0)
      await startCompensation(world.workers.ledger, runId, 'ann', null)
      world.workers.touch(runId)
      await ends(runId, 'compensated')
      expect(await world.applied('in flight', 'undo')).toBe(1)
    })

    test('sends nothing forward: what was never sent is found not applied (hole 5)', async () => {
      const id = newRunId()
      const fault = world.workers.fault({ runId: id, at: 'before-send', does: 'freeze' })
      await scripts.start(world, { run: async ({ tools }) => { await tools.lookup({ subject: 'cancelled unsent' }) } }, { id })
      await fault.struck
      await cancelRun(world.workers.ledger, id, 'ann', null)
      world.workers.touch(id)
      await until('it is settled', async () => (await world.actions(id))[0]?.status === 'failed')
      expect(world.effects.receipts({ subject: 'cancelled unsent' })).toHaveLength(0)
      fault.thaw()
      await world.workers.quiet(id)
      expect(world.effects.receipts({ subject: 'cancelled unsent' })).toHaveLength(0)
    })
  })

  describe.concurrent('asks nobody about a call that its own worker knows was never made', () => {
    test('because the guard stopped it after the run was cancelled', async () => {
      const id = newRunId()
      const fault = world.workers.fault({ runId: id, at: 'before-send', does: 'freeze' })
      await scripts.start(world, { run: async ({ tools }) => { await tools.opaque({ subject: 'stopped by the guard' }) } }, { id })
      await fault.struck
      await cancelRun(world.workers.ledger, id, 'ann', null)
      world.workers.touch(id)
      // By then the guard is closed, whatever the worker has heard of the cancelling.
      await until('its doubt may be answered', async () => (await world.rows(`select 1 from pawl.actions where run_id = $1 and status = 'in_doubt' and answerable_at <= clock_timestamp()`, [id])).length === 1)
      fault.thaw()
      await until('it is settled without anybody', async () => (await world.actions(id))[0]?.status === 'failed')
      await until('nothing is live', async () => (await world.items(id)).every((item) => item.status === 'cancelled' || item.status === 'done'))
      expect(world.effects.receipts({ subject: 'stopped by the guard' })).toHaveLength(0)
    })

    test('because its intent was written, the answer was lost, and the run was cancelled before it could be read', async () => {
      const { ledger } = world.workers
      const query = ledger.query.bind(ledger)
      const id = newRunId()
      let isLost = false
      const losing = vi.spyOn(ledger, 'query').mockImplementation(async (text, params, options) => {
        const rows = await query(text, params, options)
        if (isLost || !text.includes('with want as') || !String(params?.[2]).includes('no answer to its intent')) return rows
        isLost = true
        await cancelRun(ledger, id, 'ann', null)
        throw Object.assign(new Error('the answer was lost'), { code: 'CONNECTION_CLOSED' })
      })
      await scripts.start(world, { run: async ({ tools }) => { await tools.opaque({ subject: 'no answer to its intent' }) } }, { id })
      await until('its answer is lost', () => isLost)
      losing.mockRestore()
      world.workers.touch(id)
      await until('it is settled without anybody', async () => (await world.actions(id))[0]?.status === 'failed')
      await until('nothing is live', async () => (await world.items(id)).every((item) => item.status === 'cancelled' || item.status === 'done'))
      expect(world.effects.receipts({ subject: 'no answer to its intent' })).toHaveLength(0)
    })
  })

  describe.concurrent('waits', () => {
    test('paused, it hands back at the next call boundary and goes on when resumed, nothing repeated', async () => {
      world.effects.program('before pause', [{ hold: 'after' }])
      const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.opaque({ subject: 'before pause' }); await tools.opaque({ subject: 'after pause' }) } })
      await world.effects.received('before pause', 1)
      await pauseRun(world.workers.ledger, runId, 'ann')
      // The sweep interval tells the worker; the call in flight still ends well.
      await new Promise((resolve) => setTimeout(resolve, 300))
      world.effects.release('before pause')
      await until('it is handed back', async () => (await world.item(runId)).status === 'pending')
      expect((await world.actions(runId)).map((action) => action.status)).toEqual(['committed'])
      expect(await world.item(runId)).toMatchObject({ failures: 0, barren_attempts: 0 })
      await resume(runId)
      await ends(runId, 'completed')
      for (const subject of ['before pause', 'after pause']) expect(world.effects.receipts({ subject })).toHaveLength(1)
    })

    test('ctx.sleepUntil gives the worker back and spends nothing', async () => {
      let at = new Date(0)
      const runId = await scripts.start(world, { run: async ({ ctx, tools }) => { if (ctx.attempt === 1) at = new Date(Date.now() + 3_000); await ctx.sleepUntil(at); await tools.keyed({ subject: 'slept' }) } }, { policy: { maxFailures: 1 } })
      await until('it sleeps', async () => (await world.item(runId)).status === 'pending' && (await world.item(runId)).attempts === 1)
      await ends(runId, 'completed')
      expect(Date.now()).toBeGreaterThanOrEqual(at.getTime())
      expect(await world.item(runId)).toMatchObject({ failures: 0, barren_attempts: 0 })
    })

    test('ctx.record keeps the first answer for every later attempt', async () => {
      const seen: unknown[] = []
      const runId = await scripts.start(world, {
        run: async ({ ctx, tools }) => {
          const drawn = [await ctx.record('dice', () => Math.random()), await ctx.record('dice', () => Math.random())]
          await tools.keyed({ subject: 'recorded' })
          seen.push(drawn)
          if (seen.length < 2) throw new Error('again')
        },
      })
      await ends(runId, 'completed')
      expect(seen[1]).toEqual(seen[0])
      expect(new Set(seen[0] as unknown[]).size).toBe(2)
    })

    test('one name for the records of two branches is refused: on replay they would get each other\'s value', async () => {
      world.effects.program('slow branch', [{ hold: 'before' }])
      const runId = await scripts.start(world, {
        run: async ({ ctx, tools }) => {
          const branch = async (subject: string) => {
            await tools.read({ subject })
            const quote = ctx.record('quote', () => subject)
            world.effects.release('slow branch')
            return await quote
          }
          await Promise.all([branch('slow branch'), branch('quick branch')])
        },
      }, { policy: { maxFailures: 1 } })
      await ends(runId, 'failed')
      expect((await world.item(runId)).error).toContain('a name of its own')
    })

    test('never more items of a run at work than its maxConcurrency (hole 27)', async () => {
      let now = 0
      let most = 0
      const runId = await scripts.start(world, {
        run: async ({ payload, tools }) => {
          most = Math.max(most, ++now)
          await tools.keyed({ subject: `concurrent ${String(payload)}` })
          now--
        },
      }, { items: items(30), policy: { maxConcurrency: 4 } })
      await ends(runId, 'completed')
      expect(most).toBeLessThanOrEqual(4)
      expect(most).toBeGreaterThan(1)
    })
  })

  describe.concurrent('doorbells', () => {
    test('nobody rang: the sweep does', async () => {
      const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.opaque({ subject: 'not rung for' }) } }, { rings: false })
      await ends(runId, 'completed')
      expect(world.effects.receipts({ subject: 'not rung for' })).toHaveLength(1)
    })

    test('a job that failed before its item was claimed is kept, and rung for again under a new generation (hole 14)', async () => {
      const id = newRunId()
      const fault = world.workers.fault({ runId: id, at: 'before-claim', seq: 1, does: 'throw' })
      await scripts.start(world, { run: async ({ tools }) => { await tools.opaque({ subject: 'rung for again' }) } }, { id })
      await fault.struck
      await ends(id, 'completed')
      const [item] = await world.rows<{ generation: number; attempts: number }>('select generation, attempts from pawl.items where run_id = $1 and seq = 1', [id])
      expect(item).toEqual({ generation: 2, attempts: 1 })
      expect(world.effects.receipts({ subject: 'rung for again' })).toHaveLength(1)
    })

    test('one of another ledger is refused aloud, not taken for ours', async () => {
      await expect(world.workers.workers[0]?.handle({ ledgerId: newRunId(), runId: newRunId(), seq: 1, generation: 1 })).rejects.toMatchObject({ code: 'FOREIGN_LEDGER' })
    })
  })

  describe.concurrent('leases', () => {
    test.each([
      ['one that a clock step left far in the future (hole 31)', `clock_timestamp() + interval '1 hour'`, 'clock step'],
      ['one without an end (case 15)', 'null', 'no end'],
    ])('%s counts as ended', async (_, until, subject) => {
      const id = newRunId()
      const fault = world.workers.fault({ runId: id, at: 'after-claim', seq: 1, does: 'freeze' })
      await scripts.start(world, { run: async ({ tools }) => { await tools.opaque({ subject }) } }, { id })
      await fault.struck
      await world.rows(`update pawl.items set lease_until = ${until} where run_id = $1`, [id])
      await ends(id, 'completed')
      expect(world.effects.receipts({ subject })).toHaveLength(1)
    })

    test('those of a process proved dead are freed at once and fenced: its last words are not taken (hole 38)', async () => {
      const id = newRunId()
      const fault = world.workers.fault({ runId: id, at: 'before-intent', does: 'freeze' })
      await scripts.start(world, { run: async ({ tools }) => { await tools.opaque({ subject: 'freed' }) } }, { id })
      await fault.struck
      const [held] = await world.rows<{ worker_id: string }>('select worker_id from pawl.items where run_id = $1 and seq = 1', [id])
      expect(await freeLeases(world.workers.ledger, held?.worker_id ?? null)).toEqual(expect.arrayContaining([expect.objectContaining({ runId: id })]))
      fault.thaw()
      world.workers.touch(id)
      await ends(id, 'completed')
      expect(world.effects.receipts({ subject: 'freed' })).toHaveLength(1)
      expect((await world.item(id)).attempts).toBe(2)
    })
  })

  test('a hundred runs of five instant items, each once (case 84)', async () => {
    const finalized = new Map<string, number>()
    const script: Script<Tools> = { run: () => Promise.resolve(), finalize: ({ run }) => { finalized.set(run.id, (finalized.get(run.id) ?? 0) + 1); return Promise.resolve() } }
    const runIds: string[] = []
    for (let i = 0; i < 100; i++) runIds.push(await scripts.start(world, script, { items: items(5) }))
    await until('all are closed', async () => (await world.rows(`select 1 from pawl.runs where status = 'completed' and id::text = any (string_to_array($1, ','))`, [runIds.join(',')])).length === 100, 110_000)
    expect(runIds.map((id) => finalized.get(id))).toEqual(runIds.map(() => 1))
    expect(await world.rows(`select run_id from pawl.events where kind = 'run.ended' and run_id::text = any (string_to_array($1, ',')) group by run_id having count(*) <> 1`, [runIds.join(',')])).toEqual([])
  }, 120_000)
})

describe('a worker that is told to stop', () => {
  let world: World
  let scripts: Scripts<Record<ToolClass, EffectTool>>
  beforeAll(async () => {
    world = await World.open((tools) => [(scripts = new Scripts(tools)).agent], { workers: 1 })
  })
  afterAll(() => world.close())

  test('lets the call in flight finish, makes no further one, hands the item back, and another goes on at once', async () => {
    world.effects.program('last call', [{ hold: 'after' }])
    const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.opaque({ subject: 'last call' }); await tools.opaque({ subject: 'next worker' }) } })
    await world.effects.received('last call', 1)
    const stopped = world.workers.workers[0]?.stop(10_000)
    world.effects.release('last call')
    await stopped
    expect(await world.item(runId)).toMatchObject({ status: 'pending', failures: 0, barren_attempts: 0, attempts: 1 })
    expect((await world.actions(runId)).map((action) => action.status)).toEqual(['committed'])
    expect(world.effects.receipts({ subject: 'next worker' })).toHaveLength(0)
    await world.workers.startWorker()
    expect((await world.workers.runIs(runId)).status).toBe('completed')
    for (const subject of ['last call', 'next worker']) expect(world.effects.receipts({ subject })).toHaveLength(1)
  })

  test('does not wait longer than its grace for a call that will not end; the next worker finds out what became of it (case 104)', async () => {
    world.effects.program('endless', [{ hold: 'after' }])
    const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.lookup({ subject: 'endless' }) } })
    await world.effects.received('endless', 1)
    const begun = Date.now()
    await world.workers.workers.at(-1)?.stop(300)
    expect(Date.now() - begun).toBeLessThan(10_000)
    expect((await world.actions(runId)).map((action) => action.status)).toEqual(['started'])
    await world.workers.startWorker()
    expect((await world.workers.runIs(runId)).status).toBe('completed')
    expect((await world.actions(runId)).map((action) => action.settled_by)).toEqual(['verify'])
    expect(world.effects.receipts({ subject: 'endless' })).toHaveLength(1)
  })
})
