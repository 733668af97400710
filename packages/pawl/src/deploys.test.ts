/**
 * Runs that outlive deploys, with real worker processes of the built command: v1 is killed in mid-call, v2 goes on and is told to stop in mid-call while v3 is at work beside it.
 * What happened is read from the receiver's own log, what the run is pinned to from the ledger.
 */
import { fileURLToPath } from 'node:url'
import { audit, startEffectsServer, type EffectsServer } from '@pawl/testing'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { callPawl } from './cli/call-pawl.testsuite.ts'
import { startBuilt, type Running } from './cli/command.testsuite.ts'
import { openWorld, type World } from './cli/world.testsuite.ts'
import type { StartedRun } from './index.ts'

vi.setConfig({ testTimeout: 120_000 })
/** The grace is short: whoever is told to stop in mid-call ends in mid-call. */
const timings = {
  leaseMs: 4_000, renewEveryMs: 400, sendWindowMs: 700, sweepEveryMs: 100, sweeperLeaseMs: 1_000, heartbeatEveryMs: 500, undeliveredAfterMs: 1_000, divergedHoldMs: 100,
  stopGraceMs: 300, settleAgainMs: 50, alonePatienceMs: 2_000, versionGraceMs: 300,
}
const config = fileURLToPath(new URL('./cli/deploy-config.testsuite.ts', import.meta.url))
let world: World
let effects: EffectsServer
const workers = new Map<string, Running>()
let stays = ''
let moves = ''

const envOf = (version: string) => ({ ...world.env, PAWL_CONFIG: config, EFFECTS_URL: effects.url, DEPLOYED: version, PAWL_TIMINGS: JSON.stringify(timings) })
const rows = async <R extends Record<string, unknown>>(text: string, params: string[] = []): Promise<R[]> => await world.ledger.query<R>(text, params)
const eventually = async (check: () => Promise<void> | void): Promise<void> => { await vi.waitFor(check, { timeout: 60_000, interval: 30 }) }
/** As whoever stands at version 1: what a client knows of the agents. */
const pawl = async (...args: string[]) => await callPawl(args, { cwd: world.folder, env: envOf('1') })
const live = async (): Promise<{ pid: number; serves: string[] }[]> => await rows('select pid, serves from pawl.workers order by started_at')
const inFlight = async (runId: string): Promise<string[]> =>
  (await rows<{ key: string }>(`select i.key from pawl.actions a join pawl.items i on i.run_id = a.run_id and i.seq = a.item_seq where a.run_id = $1 and a.status = 'started' order by 1`, [runId])).map((row) => row.key)

async function deploy(version: string): Promise<void> {
  workers.set(version, startBuilt(['worker', '--processes', '1', '--concurrency', '3', '--json'], { cwd: world.folder, env: envOf(version) }))
  await eventually(async () => expect((await live()).flatMap((worker) => worker.serves)).toContain(version === '3' ? 'alone@3' : `welcome@${version}`))
}

/** The machine is gone: nobody hands anything back. */
async function loseMachine(version: string): Promise<void> {
  const [worker] = await live()
  workers.get(version)?.kill('SIGKILL')
  process.kill(worker?.pid ?? 0, 'SIGKILL')
  await workers.get(version)?.ended
}

async function stop(version: string): Promise<void> {
  workers.get(version)?.kill('SIGTERM')
  await workers.get(version)?.ended
  workers.delete(version)
}

async function start(agent: string, people: readonly string[], ...options: string[]): Promise<string> {
  const file = world.write(`${people[0]}.ndjson`, people.map((to) => JSON.stringify({ key: to, payload: { to } })).join('\n'))
  const { code, stdout, stderr } = await pawl('run', 'start', agent, '--items', file, ...options, '--json')
  if (code !== 0) throw new Error(stderr)
  return (JSON.parse(stdout) as StartedRun).id
}
const pinsOf = async (runId: string) => await rows('select agent_version, model_version, prompt_version, schema_version, lock_digest, tools from pawl.runs where id = $1', [runId])
const attemptsOf = async (runId: string) => await rows<{ key: string; agent_version: string; build_version: string; lock_digest: string }>(
  `select i.key, a.agent_version, a.build_version, a.lock_digest from pawl.attempts a join pawl.items i on i.run_id = a.run_id and i.seq = a.item_seq where a.run_id = $1 and i.kind = 'work' order by a.item_seq, a.epoch`, [runId])
const isOver = async (runId: string): Promise<void> => await eventually(async () => expect(await rows('select status from pawl.runs where id = $1', [runId])).toEqual([{ status: 'completed' }]))

const seen = { pinsBefore: [] as unknown[], atFirst: [] as string[], atSecond: [] as string[], together: [] as string[][], preview: '' }

beforeAll(async () => {
  world = await openWorld({ migrate: true })
  effects = await startEffectsServer()
  // The effect stands, its answer never comes: whoever waits for it dies in mid-call.
  effects.program('ann', [{ hold: 'after' }])
  effects.program('bob', [{}, { hold: 'after' }])
  effects.program('rob', [{ hold: 'after' }])
  await deploy('1')
  stays = await start('welcome', ['ann', 'bob', 'cid', 'dan', 'eve', 'fay'])
  moves = await start('welcome', ['rob', 'ria', 'roy'], '--max-concurrency', '1')
  seen.pinsBefore = await pinsOf(stays)
  await Promise.all([effects.received('ann', 1), effects.received('bob', 2), effects.received('rob', 1)])
  effects.program('cid', [{ hold: 'after' }])
  effects.program('dan', [{ hold: 'before' }])
  effects.program('ria', [{ hold: 'after' }])
  await loseMachine('1')
  seen.atFirst = [...await inFlight(stays), ...await inFlight(moves)]

  await deploy('2')
  await Promise.all(['cid', 'dan', 'ria'].map((subject) => effects.received(subject, 1)))
  await deploy('3')
  // The lost machine's row goes when it is found dead, whenever that is.
  await eventually(async () => expect(await live()).toHaveLength(2))
  seen.together = (await live()).map((worker) => worker.serves)
  seen.preview = (await pawl('run', 'repin', moves, '--to', '3', '--dry-run')).stdout
  await pawl('run', 'repin', moves, '--to', '3', '--reason', 'the shorter letter')
  effects.release('dan')
  await eventually(async () => expect(await rows(`select status from pawl.items where run_id = $1 and key = 'dan'`, [stays])).toEqual([{ status: 'done' }]))
  seen.atSecond = [...await inFlight(stays), ...await inFlight(moves)]
  await stop('2')
  await Promise.all([isOver(stays), isOver(moves)])
}, 120_000)
afterAll(async () => {
  for (const worker of workers.values()) worker.kill('SIGKILL')
  await Promise.all([...workers.values()].map((worker) => worker.ended))
  await effects.close()
  await world.close()
})

test('the run of version 1 met both deploys with calls in flight, and two versions were at work at once', async () => {
  expect(seen.atFirst).toEqual(['ann', 'bob', 'rob'])
  expect(seen.atSecond).toEqual(expect.arrayContaining(['cid', 'ria']))
  expect(seen.together).toEqual([['welcome@2', 'welcome@1', 'alone@1'], ['welcome@3', 'welcome@1', 'welcome@2', 'alone@3']])
  const builds = (await attemptsOf(stays)).map((attempt) => `${attempt.key} ${attempt.build_version}`)
  expect(builds).toEqual(expect.arrayContaining(['ann 1', 'ann 2', 'bob 1', 'bob 2', 'cid 2', 'cid 3', 'dan 2']))
})

test('every effect is one, by the receiver’s own log, and the audit finds nothing', async () => {
  for (const subject of ['ann', 'bob', 'cid', 'dan', 'eve', 'fay', 'rob', 'ria', 'roy']) {
    expect([subject, effects.effects({ subject, op: 'letter' }), effects.effects({ subject, op: 'desk' })]).toEqual([subject, 1, 1])
  }
  const seenOutside = effects.receipts().map(({ op, key, epoch, attempt, applied, at }) => ({ tool: op === 'letter' ? 'letter.send' : 'desk.book', key, epoch: epoch ?? 0, attempt: attempt ?? 0, applied, at: new Date(at) }))
  expect((await audit(world.ledger, { effects: seenOutside })).violations).toEqual([])
})

test('its pins and those of every attempt are what it began with, and its calls are of the version it began with', async () => {
  expect(await pinsOf(stays)).toEqual(seen.pinsBefore)
  expect(seen.pinsBefore).toMatchObject([{ agent_version: '1', schema_version: 1 }])
  const [{ lock_digest } = { lock_digest: '' }] = await rows<{ lock_digest: string }>('select lock_digest from pawl.runs where id = $1', [stays])
  for (const attempt of await attemptsOf(stays)) expect(attempt).toMatchObject({ agent_version: '1', lock_digest })
  expect(await rows(`select distinct tool, tool_version from pawl.actions where run_id = $1 order by 1`, [stays])).toEqual([{ tool: 'desk.book', tool_version: '1' }, { tool: 'letter.send', tool_version: '1' }])
})

test('the run that was moved says who moved it, from what to what; what had begun kept its calls, what had not is of the new version', async () => {
  expect(seen.preview).toMatch(/letter\.send: version 1 → 2; its key changes/)
  expect(await rows('select agent_version from pawl.runs where id = $1', [moves])).toEqual([{ agent_version: '3' }])
  expect(await rows(`select actor, data from pawl.events where run_id = $1 and kind = 'run.repinned'`, [moves])).toMatchObject([
    { actor: expect.stringMatching(/^cli:/) as string, data: { from: { version: '1' }, to: { version: '3' }, reason: 'the shorter letter' } },
  ])
  expect((await attemptsOf(moves)).map((attempt) => `${attempt.key} ${attempt.agent_version} ${attempt.build_version}`)).toEqual(['rob 1 1', 'rob 1 2', 'ria 1 2', 'ria 3 3', 'roy 3 3'])
  const letters = await rows<{ key: string; tool_version: string }>(`select i.key, a.tool_version from pawl.actions a join pawl.items i on i.run_id = a.run_id and i.seq = a.item_seq where a.run_id = $1 and a.tool = 'letter.send' order by a.item_seq`, [moves])
  expect(letters.map((one) => `${one.key} ${one.tool_version}`)).toEqual(['rob 1', 'ria 1', 'roy 2'])
})

test('a run whose version only older workers have is blocked `version`; the command, the inbox and the doctor say how to move it, and a worker of that version releases it (case 94)', async () => {
  const runId = await start('alone', ['zoe'])
  await eventually(async () => expect(await rows(`select blocked_reason from pawl.items where run_id = $1`, [runId])).toEqual([{ blocked_reason: 'version' }]))
  const [shown, inbox, doctor] = await Promise.all([pawl('run', 'show', runId), pawl('inbox', '--run', runId), pawl('doctor')])
  const command = `pawl run repin ${runId} --to`
  expect(shown.stdout).toContain(command)
  expect(inbox.stdout).toContain(command)
  expect(doctor.stdout).toMatch(/1 item of alone@1 wait, and no live worker serves it/)
  expect(doctor.stdout).toContain(`${command} 3 --dry-run`)
  expect(effects.receipts({ subject: 'zoe' })).toEqual([])
  await deploy('1')
  await isOver(runId)
  expect(effects.receipts({ subject: 'zoe' }).map((receipt) => receipt.applied)).toEqual([true])
  expect(await rows('select agent_version from pawl.runs where id = $1', [runId])).toEqual([{ agent_version: '1' }])
})
