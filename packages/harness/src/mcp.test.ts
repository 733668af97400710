/** Tools of MCP servers under the harness: what a lost call becomes, and what a server's own words cannot do. The server is a real process. */
import { newRunId } from '@pawl/core'
import { decideApprovals, repinRun, wakeItems } from '@pawl/ledger'
import { applied, notApplied, pinsOf } from '@pawl/tools'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { Lying } from '../../tools/src/mcp/fixtures/servers.testsuite.ts'
import { fromMcp, McpServer, type Classification, type McpTool } from '../../tools/src/mcp/index.ts'
import type { AnyAgent } from './define-agent.ts'
import { Scripts } from './scripted.testsuite.ts'
import { until, World } from './world.testsuite.ts'

vi.setConfig({ testTimeout: 90_000 })

const quick = { timeout: 5_000, settleWindow: 200, approval: 'never' } as const

describe('a call of an MCP tool', () => {
  const lying = new Lying()
  const server = new McpServer({ name: 'lying', ...lying.place })
  const other = new McpServer({ name: 'lying', ...lying.place })
  const look = async (target: string): Promise<boolean> => JSON.stringify(await server.read('look', {})).includes(target)
  const take = async () => await fromMcp(server, {
    classify: {
      // Says of itself that it is read-only and idempotent.
      hang: { effect: 'non-idempotent', ...quick },
      die: { effect: 'non-idempotent', ...quick, verify: async ({ target }) => ((await look(String(target))) ? applied({ content: [{ type: 'text', text: 'found' }] }) : notApplied()) } satisfies Classification,
      delete_all: { effect: 'non-idempotent', ...quick },
      look: { effect: 'read' },
    },
  })
  /** What nobody classified, by the same server: its own words say that `delete_all` only reads. */
  const takeUnclassified = async () => (await fromMcp(other, { classify: (tool) => (tool.name === 'delete_all' ? undefined : 'omit') })) as Readonly<Record<'delete_all', McpTool>>
  let world: World
  let scripts: Scripts<Awaited<ReturnType<typeof take>>>
  let asking: Scripts<Awaited<ReturnType<typeof takeUnclassified>>>
  const requests = (runId: string) => world.rows<{ id: number; digest: string; status: string; tool_version: string }>('select action_id::int as id, digest, status, tool_version from pawl.approvals where run_id = $1 order by id', [runId])
  async function approve(runId: string): Promise<void> {
    const open = (await requests(runId)).filter((one) => one.status === 'open')
    const answers = await decideApprovals(world.workers.ledger, runId, open.map(({ id, digest }) => ({ actionId: id, digest, verdict: 'approved' })), { actor: 'ann' })
    expect(answers.map((one) => one.outcome)).toEqual(['approved'])
    await wakeItems(world.workers.ledger, runId)
    world.workers.touch(runId)
  }

  /** Their supervisor sees it, and takes them off the list of those who serve. */
  async function killWorkers(): Promise<void> {
    world.workers.kill()
    await world.rows('delete from pawl.workers')
  }
  /** A person takes the run to the tools as they are now. */
  async function repin(runId: string, agent: AnyAgent): Promise<void> {
    await world.blocked(runId, 'version')
    const { agentVersion, modelVersion, promptVersion, lockDigest, tools } = pinsOf(agent)
    const pins = { agentVersion, modelVersion, promptVersion, lockDigest, tools }
    expect(await repinRun(world.workers.ledger, runId, agent.version, pins, { actor: 'ann', reason: 'the server changed' })).toMatchObject({ outcome: 'repinned' })
    world.workers.touch(runId)
  }

  beforeAll(async () => {
    const tools = await take()
    asking = new Scripts(await takeUnclassified(), 'asking')
    world = await World.open(() => {
      scripts = new Scripts(tools)
      return [scripts.agent, asking.agent]
    })
  })
  afterAll(async () => {
    await world.close()
    await server.close()
    await other.close()
    lying.remove()
  })

  test('whose server is killed under it is in doubt, was received once, and a person answers; the next call has a new process (case 19)', async () => {
    const runId = await scripts.start(world, { run: async ({ tools }) => {
      await tools.hang({ target: 'killed' })
      await tools.delete_all({ target: 'after-killed' })
      return {}
    } })
    await until('the server has it', () => lying.received('hang', 'killed').length > 0)
    process.kill(-(server.pid as number), 'SIGKILL')
    await world.answer(runId, 'happened', '{"content":[]}')
    expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })
    expect(lying.received('hang', 'killed')).toHaveLength(1)
    expect(lying.received('delete_all', 'after-killed')).toHaveLength(1)
    const [hung] = await world.actions(runId)
    expect(hung).toMatchObject({ status: 'committed', settled_by: expect.stringContaining('ann') as string })
    expect(lying.received('hang', 'killed')[0]?.key).toBe(hung?.key)
  })

  test('whose server died after the effect is settled by asking the server, without anyone, and was received once', async () => {
    const runId = await scripts.start(world, { run: async ({ tools }) => { await tools.die({ target: 'verified' }); return {} } })
    expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })
    expect(await world.actions(runId)).toMatchObject([{ status: 'committed', settled_by: 'verify', sends: 1 }])
    expect(lying.received('die', 'verified')).toHaveLength(1)
  })

  test('a lying delete, read-only by its own words, waits for a person and is received 0 times; after the yes once (case 117)', async () => {
    const runId = await asking.start(world, { run: async ({ tools }) => { await tools.delete_all({ target: 'lied' }) } })
    await world.blocked(runId, 'approval')
    await world.workers.quiet(runId)
    expect(lying.received('delete_all', 'lied')).toEqual([])
    await approve(runId)
    expect(await world.workers.runIs(runId)).toMatchObject({ status: 'completed' })
    expect(lying.received('delete_all', 'lied')).toHaveLength(1)
  })

  test('of a definition that changed meanwhile waits for a person to repin its run, and is settled by one, although the new definition could verify (case 117)', async () => {
    const id = newRunId()
    const planned = world.workers.fault({ runId: id, at: 'after-answer', tool: 'lying.delete_all', does: 'freeze' })
    await scripts.start(world, { run: async ({ tools }) => { await tools.delete_all({ target: 'redefined' }); return {} } }, { id })
    await planned.struck
    lying.says({ description: 'Deletes even more.' })
    await server.close()
    await killWorkers()
    const changed = new Scripts(await take())
    changed.replace(id, { run: async ({ tools }) => { await tools.delete_all({ target: 'redefined' }); return {} } })
    await world.workers.startWorker([changed.agent])
    await repin(id, changed.agent)
    const blocked = await world.blocked(id, 'in_doubt')
    expect(blocked.blocked_detail).toMatch(/it was sent by version 1\+\w{12} of the tool; this build has 1\+\w{12}/)
    expect(lying.received('delete_all', 'redefined')).toHaveLength(1)
  })

  test('a changed definition voids an open approval: the yes to the old one sends nothing; repinned, the new one is asked about (case 117)', async () => {
    const id = newRunId()
    const script = { run: async ({ tools }: { tools: { delete_all(input: object): Promise<unknown> } }) => { await tools.delete_all({ target: 'voided' }) } }
    await world.workers.startWorker([asking.agent])
    await asking.start(world, script, { id })
    await world.blocked(id, 'approval')
    lying.says({ description: 'Deletes the backups, too.' })
    await other.close()
    await killWorkers()
    const changed = new Scripts(await takeUnclassified(), 'asking')
    changed.replace(id, script)
    await world.workers.startWorker([changed.agent])
    await approve(id)
    await repin(id, changed.agent)
    await until('it is asked anew', async () => (await requests(id)).length === 2)
    await world.blocked(id, 'approval')
    expect(lying.received('delete_all', 'voided')).toEqual([])
    const [old, now] = await requests(id)
    expect([now?.status, now?.tool_version === old?.tool_version]).toEqual(['open', false])
    await approve(id)
    expect(await world.workers.runIs(id)).toMatchObject({ status: 'completed' })
    expect(lying.received('delete_all', 'voided')).toHaveLength(1)
  })
})
