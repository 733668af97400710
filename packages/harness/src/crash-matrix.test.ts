/**
 * The crash table: an attempt stands still for ever at every failpoint, for every effect class and every kind of item; another attempt
 * takes over. Judged by what the outside received. Then all the dead wake at once as zombies.
 */
import { newRunId } from '@pawl/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, type AnyAgent } from './define-agent.ts'
import type { FailpointName } from './failpoint.ts'
import { toolClasses, until, World, type EffectTool, type ToolClass } from './world.testsuite.ts'

type Kind = 'work' | 'finalize' | 'compensate'
interface Scenario {
  readonly kind: Kind
  readonly tool: ToolClass
  readonly at: FailpointName
}

const points: readonly FailpointName[] = ['after-claim', 'before-intent', 'after-intent', 'before-send', 'after-answer', 'after-completion', 'before-finish', 'after-finish']
const aroundTheCall: readonly FailpointName[] = ['before-intent', 'after-intent', 'before-send', 'after-answer', 'after-completion']
const scenarios: readonly Scenario[] = [
  ...toolClasses.flatMap((tool) => points.map((at): Scenario => ({ kind: 'work', tool, at }))),
  ...toolClasses.flatMap((tool) => [...aroundTheCall, 'before-finish' as const].map((at): Scenario => ({ kind: 'finalize', tool, at }))),
  ...(['keyed', 'lookup', 'tx'] as const).flatMap((tool) => [...aroundTheCall, 'between-undos' as const].map((at): Scenario => ({ kind: 'compensate', tool, at }))),
]
const nameOf = ({ kind, tool, at }: Scenario): string => `${kind} ${tool} ${at}`

/** What the outside must have received of a call whose first sender died there, and whether a person had to say so. */
function expected({ kind, tool, at }: Scenario): { receipts: number; effects: number; isAsked: boolean } {
  const isIntentOnly = at === 'after-intent' || at === 'before-send'
  const effects = tool === 'read' ? 0 : 1
  if (tool === 'tx') return { receipts: 0, effects, isAsked: false }
  const isAsked = tool === 'opaque' && (isIntentOnly || at === 'after-answer') && kind !== 'compensate'
  const isSentTwice = at === 'after-answer' && (tool === 'read' || tool === 'keyed' || tool === 'keyedSlow')
  return { receipts: isSentTwice ? 2 : 1, effects, isAsked }
}

const workload = z.object({ kind: z.enum(['work', 'finalize', 'compensate']), tool: z.enum(toolClasses as [ToolClass, ...ToolClass[]]), subject: z.string() })

function matrixAgent(tools: Record<ToolClass, EffectTool>): AnyAgent {
  return defineAgent({
    name: 'matrix', version: '1', inputSchema: workload, payloadSchema: z.object({}), tools,
    async run({ input, tools: call }) {
      if (input.kind === 'finalize') return
      const first = await call[input.tool]({ subject: input.subject })
      if (input.kind === 'compensate') throw new Error('the rest cannot be done')
      const second = await call.keyed({ subject: `${input.subject} then` })
      return { result: [first.ref, second.ref] }
    },
    async finalize({ input, tools: call }) {
      if (input.kind === 'finalize') return { result: (await call[input.tool]({ subject: input.subject })).ref }
    },
    policy: { maxFailures: 1, onFailure: 'compensate' },
  })
}

interface Outcome {
  readonly runId: string
  readonly status: string
  readonly receipts: number
  readonly effects: number
  readonly wasAsked: boolean
  readonly attempts: number
}

describe('an attempt that dies', () => {
  let world: World
  const outcomes = new Map<string, Promise<Outcome>>()

  async function play(scenario: Scenario): Promise<Outcome> {
    const { kind, tool, at } = scenario
    const subject = nameOf(scenario)
    const op = kind === 'compensate' ? 'undo' : 'do'
    const runId = newRunId()
    const toolName = kind === 'compensate' ? (at === 'between-undos' ? world.tools[tool].name : `${tool}.undo`) : world.tools[tool].name
    const seq = { work: 1, finalize: 2, compensate: 3 }[kind]
    const fault = world.workers.fault({ runId, at, does: 'freeze', seq, ...(aroundTheCall.includes(at) || at === 'between-undos' ? { tool: toolName } : {}) })
    await world.workers.startRun(world.workers.agents[0] as AnyAgent, { kind, tool, subject }, { id: runId, items: [{ key: 'only', payload: {} }] })
    await fault.struck
    const { isAsked } = expected(scenario)
    if (isAsked) await world.answer(runId, at === 'after-answer' ? 'happened' : 'did_not', '{"ref":"said by a person"}')
    const run = await world.workers.runIs(runId)
    const item = await world.item(runId, seq)
    return {
      runId, status: run.status, receipts: world.effects.receipts({ subject, op }).length, effects: await world.applied(subject, op),
      wasAsked: (await world.rows(`select 1 from pawl.events where run_id = $1 and kind = 'action.answered'`, [runId])).length > 0, attempts: item.attempts,
    }
  }

  beforeAll(async () => {
    world = await World.open((tools) => [matrixAgent(tools)], { concurrency: 300 })
    const lanes = Array.from({ length: 34 }, () => Promise.resolve<unknown>(undefined))
    scenarios.forEach((scenario, i) => {
      const lane = i % lanes.length
      const outcome = (lanes[lane] as Promise<unknown>).then(() => play(scenario))
      lanes[lane] = outcome.catch(() => {})
      outcomes.set(nameOf(scenario), outcome)
    })
  })
  afterAll(() => world.close())

  for (const scenario of scenarios) {
    const { kind, tool, at } = scenario
    const { receipts, effects, isAsked } = expected(scenario)
    test(`${at} of a ${kind} item: a ${tool} call is received ${receipts === 2 ? 'again' : receipts === 1 ? 'once' : 'by nobody outside'}, has ${effects} effects${isAsked ? ', and a person was asked' : ''}`, async () => {
      const outcome = await outcomes.get(nameOf(scenario))
      expect(outcome).toMatchObject({ effects, wasAsked: isAsked, status: kind === 'compensate' ? 'compensated' : 'completed' })
      // A call that may be repeated may be repeated more often than needed; none other may.
      if (receipts === 2) expect(outcome?.receipts).toBeGreaterThanOrEqual(2)
      else expect(outcome?.receipts).toBe(receipts)
      // A crash after the ledger has the verdict needs no second attempt; every other one does, or nothing was crashed.
      if (at === 'after-finish') expect(outcome?.attempts).toBe(1)
      else expect(outcome?.attempts).toBeGreaterThan(1)
    }, 60_000)
  }

  test('all the dead wake together: nothing is sent, nothing of the ledger changes but evidence', async () => {
    await Promise.allSettled(outcomes.values())
    const dump = (): Promise<string> => world.rows(`select (select json_agg(i order by run_id, seq) from pawl.items i) as items,
      (select json_agg(json_build_array(a.run_id, a.key, a.status, a.result, a.token, a.sends, a.refused) order by a.id) from pawl.actions a) as actions,
      (select count(*) from pawl.events) as events, (select count(*) from effects) as effects`).then((rows) => JSON.stringify(rows))
    const [before, received] = [await dump(), world.effects.receipts().length]
    expect(world.workers.workers.reduce((sum, worker) => sum + worker.running, 0)).toBeGreaterThan(50)
    world.workers.thawAll()
    await until('every zombie has noticed', () => world.workers.workers.every((worker) => worker.running === 0))
    expect(world.effects.receipts().length).toBe(received)
    expect(await dump()).toBe(before)
    // What an attempt knows is brought after it has ended.
    await until('an answer of the dead is kept as evidence', async () => (await world.rows(`select 1 from pawl.actions where cardinality(evidence) > 0`)).length > 0, 10_000)
    expect(await dump()).toBe(before)
  }, 60_000)
})
