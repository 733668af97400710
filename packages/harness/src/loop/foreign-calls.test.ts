/** Calls of a turn whose row goes to another item: one that the finalizer sends, one whose key another item takes over. */
import { newRunId } from '@pawl/core'
import { auditLedger } from '@pawl/ledger'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, type AnyAgent } from '../define-agent.ts'
import { effectTool, until, World } from '../world.testsuite.ts'
import { agentLoop } from './loop.ts'
import { thinkingModel, type ScriptedTurn } from './thinking.testsuite.ts'

let world: World
let agent: AnyAgent
const scripts = new Map<string, (turn: number) => ScriptedTurn | Promise<ScriptedTurn>>()

beforeAll(async () => {
  const { model } = thinkingModel(async (item, turn) => (await scripts.get(item)?.(turn)) ?? { text: 'there is no script' })
  world = await World.open((tools, effects) => {
    const byMeaning = { via: 'keyed', effect: 'idempotent', concurrent: true, key: ({ subject }: { subject: string }) => [subject] } as const
    agent = defineAgent({
      name: 'foreign', version: '1', inputSchema: z.unknown(), payloadSchema: z.unknown(),
      tools: { ...tools, meant: effectTool(effects, { name: 'meant', retry: { attempts: 1 }, ...byMeaning }), late: effectTool(effects, { name: 'late', stage: true, ...byMeaning }) },
      run: agentLoop({ model, system: 'You do what the script says.', contextTokens: 20_000 }),
    })
    return [agent]
  })
})
afterAll(async () => { await world.close() })

const asking = (tool: string, subject: string): ScriptedTurn => ({ calls: [{ tool, input: JSON.stringify({ subject }) }] })
const faults = async (runId: string): Promise<string[]> => (await auditLedger(world.workers.ledger, { runId })).violations.map(({ sentence }) => sentence)

test('a call that a turn handed in for the end of the run is sent once by the finalizer, and its turn is still found', async () => {
  scripts.set('staging', (turn) => (turn === 1 ? asking('late', 'staged') : { text: 'Handed in.' }))
  const runId = await world.workers.startRun(agent, null, { items: [{ key: 'staging', payload: null }] })
  expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })
  expect(world.effects.receipts({ subject: 'staged' })).toHaveLength(1)
  expect(await world.actions(runId)).toMatchObject([{ tool: 'late', turn: 1, staged_by: 1 }])
  expect(await faults(runId)).toEqual([])
})

test('a key that an item takes over from one that failed belongs to the turn that decided it there: after a crash the item goes on, nobody is asked', async () => {
  const id = newRunId()
  world.effects.program('taken', [{ refuse: 400 }])
  scripts.set('owner', (turn) => (turn < 3 ? asking('read', `owner ${turn}`) : turn === 3 ? asking('meant', 'taken') : { fails: () => Object.assign(new Error('the provider takes no more'), { name: 'AI_NotTaken' }) }))
  scripts.set('taker', async (turn) => {
    if (turn > 1) return { text: 'Taken.' }
    await until('the owner has failed', async () => (await world.item(id)).status === 'failed')
    return asking('meant', 'taken')
  })
  const fault = world.workers.fault({ runId: id, at: 'after-answer', tool: 'meant', seq: 2, does: 'freeze' })
  await world.workers.startRun(agent, null, { id, items: [{ key: 'owner', payload: null }, { key: 'taker', payload: null }], policy: { maxFailures: 1 } })
  await fault.struck
  expect(await world.workers.runIs(id)).toMatchObject({ status: 'failed' })
  expect((await world.items(id)).slice(0, 2).map((item) => item.status)).toEqual(['failed', 'done'])
  expect(await world.applied('taken')).toBe(1)
  expect((await world.actions(id)).find((action) => action.tool === 'meant')).toMatchObject({ item_seq: 2, turn: 1, status: 'committed' })
  expect(await faults(id)).toEqual([])
})
