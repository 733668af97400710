/** `pawl init` writes a project that works, and over nothing; completion scripts ask the command itself. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { Harness, type PawlConfig } from '@pawl/harness'
import { readIdentity } from '@pawl/ledger'
import { connectQueue } from '@pawl/queue'
import { manifestFor } from './commands/init.ts'
import { openWorld, type World } from './cli/world.testsuite.ts'
import type { StartedRun } from './index.ts'

vi.setConfig({ testTimeout: 120_000 })
const root = new URL('../../..', import.meta.url).pathname
let world: World
beforeAll(async () => { world = await openWorld({ migrate: true }) })
afterAll(async () => { await world.close() })

test('the project it writes does its run: letters are drafted, posted after a yes, and each once', async () => {
  // Below the workspace, where "pawl" and "zod" resolve as they do for whoever installed them.
  const folder = mkdtempSync(join(root, 'examples', 'mailing', '.docs-init-'))
  try {
    rmSync(folder, { recursive: true })
    const { files, next } = await world.json<{ files: string[]; next: string[] }>('init', folder)
    expect(files).toEqual(['package.json', 'README.md', 'agents/letters.ts', '.gitignore', 'input.json', 'pawl.config.ts'])
    expect(next).toEqual([`cd ${folder}`, 'npm install', 'npx pawl dev'])
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { dependencies: Record<string, string> }
    expect(manifest.dependencies['pawl']).toBe('file:../../../packages/pawl')
    const { default: config } = (await import(pathToFileURL(join(folder, 'pawl.config.ts')).href)) as { default: PawlConfig }
    const { id: ledgerId } = await readIdentity(world.ledger)
    const queue = connectQueue({ backend: 'postgres', url: world.url, ledgerId, onError: () => undefined })
    await queue.ready()
    const harness = await Harness.start({ ledger: world.ledger, queue, agents: config.agents, concurrency: 4, roles: ['items', 'splits'], log: () => undefined })
    try {
      const { id } = await world.json<StartedRun>('run', 'start', 'letters', '--agent-version', '1', '--input', readFileSync(join(folder, 'input.json'), 'utf8'), '--config', join(folder, 'pawl.config.ts'))
      expect((await world.pawl('run', 'watch', id)).code).toBe(3)
      expect(readdirSync(join(folder, 'letters', 'drafts'))).toHaveLength(3)
      expect(existsSync(join(folder, 'letters', 'posted.txt'))).toBe(false)
      expect((await world.pawl('approve', id, '--all')).code).toBe(0)
      expect((await world.pawl('run', 'watch', id)).code).toBe(0)
      expect(readFileSync(join(folder, 'letters', 'posted.txt'), 'utf8').trim().split('\n')).toHaveLength(3)
    } finally {
      await harness.stop()
      await queue.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('it writes over nothing: what is there is named, and not one file is written', async () => {
  const taken = join(world.folder, 'taken')
  await world.json('init', 'taken')
  writeFileSync(join(taken, 'README.md'), 'mine')
  rmSync(join(taken, 'agents'), { recursive: true })
  const again = await world.pawl('init', 'taken')
  expect(again).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/has README\.md, .*package\.json already.*Nothing was written/) as string })
  expect([readFileSync(join(taken, 'README.md'), 'utf8'), existsSync(join(taken, 'agents'))]).toEqual(['mine', false])
})

test('a project made from a clone links to it, one made with an installed package asks for its version; its name is a package name', () => {
  expect(manifestFor('/home/ann/My agents', '/home/ann/pawl/packages/pawl/')).toMatchObject({ name: 'my-agents', dependencies: { pawl: 'file:../pawl/packages/pawl' } })
  expect(manifestFor('/home/ann/x', '/home/ann/x/node_modules/pawl/')).toMatchObject({ dependencies: { pawl: expect.stringMatching(/^\^\d+\.\d+\.\d+$/) as string } })
  expect(manifestFor('/---', '/p/')).toMatchObject({ name: 'agents' })
})

describe('completion', () => {
  const completed = async (...words: string[]): Promise<string[]> => {
    const { stdout, code } = await world.child('complete', '--', ...words)
    expect(code).toBe(0)
    return stdout.trim().split('\n').filter((line) => !line.startsWith(':')).map((line) => line.split('\t')[0] ?? '')
  }

  test('knows commands, their commands, options and the values options take', async () => {
    const [top, run, options, values, shells] = await Promise.all([completed(''), completed('run', 're'), completed('run', 'list', '--st'), completed('run', 'list', '--status', 'comp'), completed('completion', '')])
    expect(top).toEqual(expect.arrayContaining(['run', 'inbox', 'dev', 'doctor', 'prune']))
    expect(top).not.toContain('complete')
    expect(run.toSorted()).toEqual(['repin', 'resume'])
    expect(options).toEqual(['--status'])
    expect(values.toSorted()).toEqual(['compensated', 'compensated_with_residue', 'compensating', 'completed', 'completed_with_failures'])
    expect(shells.toSorted()).toEqual(['bash', 'fish', 'powershell', 'zsh'])
  })

  test('its script for bash is bash, and each shell has one', async () => {
    const scripts = await Promise.all(['bash', 'zsh', 'fish', 'powershell'].map((shell) => world.child('completion', shell)))
    expect(scripts.map(({ code, stdout }) => [code, /pawl.{0,9}complete/.test(stdout)])).toEqual([[0, true], [0, true], [0, true], [0, true]])
    execFileSync('bash', ['-n'], { input: scripts[0]?.stdout ?? '' })
    expect(await world.pawl('completion', 'csh')).toMatchObject({ code: 2, stderr: expect.stringContaining('Allowed choices are bash, zsh, fish, powershell') as string })
  })
})
