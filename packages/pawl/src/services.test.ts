/** The services as real processes: they say where they are, work together, and end on a signal with exit 0. */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { stopEmbedded } from '@pawl/embedded'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startBuilt, startPawl, type Running } from './cli/command.testsuite.ts'
import { mustBePromised } from './cli/json-contract.testsuite.ts'
import { openWorld, type World } from './cli/world.testsuite.ts'
import type { StartedRun } from './index.ts'

vi.setConfig({ testTimeout: 180_000 })
let world: World
const running = new Set<Running>()
/** Where dev's Postgres really lies: as root it may be outside the folder asked for. */
const dataFolders = new Set<string>()
beforeAll(async () => { world = await openWorld({ migrate: true }) })
afterAll(async () => {
  for (const each of running) each.kill('SIGKILL')
  await Promise.all([...running].map((each) => each.ended))
  // Of a dev that a failed test left behind.
  await stopEmbedded(join(world.folder, '.pawl', 'dev'))
  for (const folder of dataFolders) rmSync(folder, { recursive: true, force: true })
  await world.close()
})

function start(...args: string[]): Running {
  const started = startPawl([...args, '--json'], { cwd: world.folder, env: world.env })
  running.add(started)
  void started.ended.then(() => running.delete(started))
  return started
}

async function upOf<T>(service: Running): Promise<T> {
  return JSON.parse(await service.line((line) => line.startsWith('{'), 120_000)) as T
}

async function endsWell(service: Running, signal: NodeJS.Signals): Promise<void> {
  service.kill(signal)
  const { code, stderr } = await service.ended
  expect(stderr).toBe('')
  expect(code).toBe(0)
}

test('producer, worker and dashboard: a run started over HTTP is worked on and shown, and each ends on its signal', async () => {
  const services = [start('producer', '--port', '0'), start('worker', '--processes', '1', '--port', '0')] as const
  const ups = await Promise.all([upOf<{ url: string }>(services[0]), upOf<{ healthUrl: string }>(services[1])])
  const [{ url }, { healthUrl }] = ups
  mustBePromised('producer', JSON.stringify(ups[0]))
  mustBePromised('worker', JSON.stringify(ups[1]))
  expect((await fetch(`${healthUrl}/health`)).status).toBe(200)
  const overHttp = ['--url', url]
  const { id } = await world.json<StartedRun>('run', 'start', 'notes', '--input', '{"lines":3}', ...overHttp)
  const watched = await world.pawl('run', 'watch', id, ...overHttp)
  expect(watched.stdout).toContain('is completed: 3/3 done')
  expect(watched.code).toBe(0)
  expect(await world.json('run', 'list', ...overHttp)).toMatchObject({ entries: [{ id, createdBy: expect.any(String) as string }] })

  const dashboard = start('dashboard', '--port', '0', '--producer', url)
  const shown = await upOf<{ url: string; loginUrl: string }>(dashboard)
  mustBePromised('dashboard', JSON.stringify(shown))
  const { url: pages, loginUrl } = shown
  expect((await fetch(`${pages}/`, { redirect: 'manual' })).status).not.toBe(200)
  expect(loginUrl.startsWith(pages)).toBe(true)
  await Promise.all([endsWell(dashboard, 'SIGTERM'), endsWell(services[0], 'SIGINT'), endsWell(services[1], 'SIGTERM')])
})

test('dev brings everything in one folder, refuses a second, is found from there, goes on after SIGKILL, and stops with nothing left', async () => {
  const folder = join(world.folder, '.pawl')
  const env = { ...world.env, DATABASE_URL: '', PAWL_DATA_DIR: folder }
  const inFolder = (...args: string[]): Running => {
    // As installed: dev starts three processes and more, each of which would compile the sources first.
    const started = startBuilt([...args, '--json'], { cwd: world.folder, env })
    running.add(started)
    void started.ended.then(() => running.delete(started))
    return started
  }
  const dev = ['dev', '--processes', '1', '--port', '0', '--dashboard-port', '0']
  const first = inFolder(...dev)
  const up = await upOf<{ adopted: boolean; folder: string; producerUrl: string }>(first)
  mustBePromised('dev', JSON.stringify(up))
  dataFolders.add(up.folder)
  expect(up.adopted).toBe(false)
  expect(up.producerUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect((await fetch(`${up.producerUrl}/ready`)).status).toBe(200)

  const second = await inFolder(...dev).ended
  expect(second.code).toBe(1)
  expect(JSON.parse(second.stderr)).toMatchObject({ code: 'EMBEDDED_IN_USE', details: { pid: first.pid } })

  const pidFile = join(up.folder, 'pg', 'data', 'postmaster.pid')
  expect(existsSync(pidFile)).toBe(true)
  const started = await inFolder('run', 'start', 'notes', '--input', '{"lines":400}').ended
  const { id } = JSON.parse(started.stdout) as StartedRun
  first.kill('SIGKILL')
  await first.ended
  const next = inFolder(...dev)
  expect(await upOf(next)).toMatchObject({ adopted: true })
  const watched = await inFolder('run', 'watch', id).ended
  expect(watched.code).toBe(0)
  expect(watched.stdout).toContain('"done":400')
  next.kill('SIGINT')
  const end = await next.ended
  expect(end.code).toBe(0)
  expect(existsSync(join(folder, 'dev.json'))).toBe(false)
  expect(existsSync(pidFile)).toBe(false)
})

test('dev loads an agent anew when its file is saved: new workers and a new producer have it, runs go on; one that does not load changes nothing', async () => {
  const folder = join(world.folder, '.pawl-reload')
  const env = { ...world.env, DATABASE_URL: '', PAWL_DATA_DIR: folder }
  const agent = (version: string): string => world.write('agent.ts', `import { defineAgent } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)}
import { z } from ${JSON.stringify(import.meta.resolve('zod'))}
export const greeter = defineAgent({ name: 'greeter', version: '${version}', serves: ${version === '1' ? '[]' : "['1']"}, inputSchema: z.object({}), payloadSchema: z.object({}), tools: {},
  *split() { yield { key: 'a', payload: {} } }, run: async () => ({ result: 'from ${version}' }) })`)
  world.write('package.json', '{"type":"module"}')
  agent('1')
  const config = world.write('reload.config.ts', `import { greeter } from './agent.ts'\nexport default { agents: [greeter] }`)
  const start = (...args: string[]): Running => {
    // As installed: dev starts three processes and more, each of which would compile the sources first.
    const started = startBuilt([...args, '--json'], { cwd: world.folder, env })
    running.add(started)
    void started.ended.then(() => running.delete(started))
    return started
  }
  const dev = start('dev', '--processes', '1', '--port', '0', '--dashboard-port', '0', '--config', config)
  const up = await upOf<{ folder: string; producerUrl: string; agents: string[] }>(dev)
  dataFolders.add(up.folder)
  expect(up.agents).toEqual(['greeter@1'])

  world.write('agent.ts', 'export const greeter = )')
  const broken = await dev.line((line) => line.includes('"error"'), 120_000)
  mustBePromised('dev', broken)
  expect((await fetch(`${up.producerUrl}/ready`)).status).toBe(200)
  agent('2')
  const loaded = await dev.line((line) => line.includes('greeter@2'), 120_000)
  expect(JSON.parse(loaded)).toEqual({ reloaded: [join(world.folder, 'agent.ts')], agents: ['greeter@2'] })
  const begun = await start('run', 'start', 'greeter', '--url', up.producerUrl, '--watch').ended
  expect([begun.code, begun.stderr]).toEqual([0, ''])
  const [first = ''] = begun.stdout.split('\n')
  const shown = await start('run', 'items', (JSON.parse(first) as StartedRun).id, '--url', up.producerUrl).ended
  expect(shown.stdout).toContain('from 2')
  dev.kill('SIGINT')
  expect((await dev.ended).code).toBe(0)
})

test('demo passes its arguments and its exit code on', async () => {
  const { code, stderr } = await startPawl(['demo', '--example', 'nothing'], { cwd: world.folder, env: world.env }).ended
  expect(stderr).toContain('There is no example "nothing"')
  expect(code).toBe(2)
})
