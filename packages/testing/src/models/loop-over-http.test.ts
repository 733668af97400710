/** agentLoop over real HTTP with both providers' own clients: holders crash, the line is bad, and the server's own log says how often each decision was asked for. */
import { newRunId } from '@pawl/core'
import { agentLoop, defineAgent, type AnyAgent, type FailpointName } from '@pawl/harness'
import type { LanguageModelV3 } from '@ai-sdk/provider'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { World } from '../../../harness/src/world.testsuite.ts'
import type { Decision, Policy } from './conversation.ts'
import { repeatedDecisions } from './model-log.ts'
import { startModelServer, type ModelServer } from './model-server.ts'
import { providers } from './providers.testsuite.ts'

const itemOf = (text: string): string => /# Item \d+ of the run: (\S+)/.exec(text)?.[1] ?? 'unknown'

/** Looks something up, does three things at once, does one more, is through: which of it is next is read from the conversation alone. */
const decide: Policy = ({ text, turns }) => {
  const item = itemOf(text)
  const turn = turns.filter((each) => each.role === 'assistant').length + 1
  const call = (name: string, what: string) => ({ name, input: { subject: `${item}.${what}`, note: 'a reason' } })
  const steps: Decision[] = [
    { calls: [call('read', 'a')] },
    { text: 'Three at once.', calls: [call('keyed', 'b'), call('lookup', 'c'), call('tx', 'd')] },
    { calls: [call('keyed', 'e')] },
  ]
  return { text: 'All is done.', ...steps[turn - 1], reword: ['note'], label: `${item}/${turn}` }
}

let folder: string
let server: ModelServer
let world: World
let agents: readonly AnyAgent[] = []
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pawl-loop-'))
  server = await startModelServer({ decide, logFile: join(folder, 'model.jsonl') })
  world = await World.open((tools) => (agents = providers.flatMap(({ name, model }) => [false, true].map((isStreamed) => defineAgent({
    name: `${name}-${isStreamed ? 'streamed' : 'whole'}`, version: '1', inputSchema: z.unknown(), payloadSchema: z.unknown(), tools,
    run: agentLoop({ model: model(server.url) as LanguageModelV3, system: 'You do what is asked.', contextTokens: 20_000, maxOutputTokens: 500, ...(isStreamed ? { onDelta: () => undefined } : {}) }),
  })))), { concurrency: 50 })
})
afterAll(async () => {
  await world.close()
  await server.close()
  rmSync(folder, { recursive: true })
})

const crashes: readonly [FailpointName, number][] = [['after-turn', 1], ['after-turn', 2], ['after-intent', 2], ['after-answer', 2], ['after-completion', 3], ['after-decision', 2]]
const start = async (name: string, item: string, id: string): Promise<void> => {
  const agent = agents.find((each) => each.name === name)
  if (!agent) throw new Error(`no agent ${name}`)
  await world.workers.startRun(agent, null, { items: [{ key: item, payload: null }], id })
}
const effectsOf = (item: string) => Promise.all(['b', 'c', 'd', 'e'].map((what) => world.applied(`${item}.${what}`)))
const answersOf = (item: string) => server.log().filter((entry) => entry.outcome === 'answered' && entry.label?.startsWith(`${item}/`))

describe.each(['openai-whole', 'anthropic-streamed'])('%s', (agent) => {
  test('crashed in the middle: no recorded decision is asked for again, no effect happens twice, no request is refused', async () => {
    const cells = await Promise.all(crashes.map(async ([at, nth], i) => {
      const item = `${agent}.${i}`
      const id = newRunId()
      const fault = world.workers.fault({ runId: id, at, nth, seq: 1, does: 'freeze' })
      await start(agent, item, id)
      await fault.struck
      await world.workers.runIs(id)
      fault.thaw()
      await world.workers.quiet(id)
      return { at: `${at} ${nth}`, effects: await effectsOf(item), asked: answersOf(item).length, repeated: repeatedDecisions(answersOf(item)) }
    }))
    expect(cells).toEqual(crashes.map(([at, nth], i) => ({
      at: `${at} ${nth}`, effects: [1, 1, 1, 1], asked: at === 'after-decision' ? 5 : 4, repeated: at === 'after-decision' ? [{ label: `${agent}.${i}/${nth}`, times: 2 }] : [],
    })))
    expect(server.log().filter((entry) => entry.outcome === 'refused').map((entry) => entry.why)).toEqual([])
  })

  test('a bad line costs requests and no failures: a 500, an answer that is lost, one that is cut off', async () => {
    const item = `${agent}.line`
    const id = newRunId()
    server.fail({ kind: 'status', status: 500 }, { kind: 'drop', when: 'after' }, { kind: 'truncate', events: 3, isClean: true })
    await start(agent, item, id)
    await world.workers.runIs(id)
    expect(await effectsOf(item)).toEqual([1, 1, 1, 1])
    expect(await world.item(id)).toMatchObject({ status: 'done', failures: 0 })
    // The first answer did not arrive twice; the others were asked for once.
    expect(answersOf(item).map((entry) => entry.label?.split('/')[1])).toEqual(['1', '1', '1', '2', '3', '4'])
  })
})
