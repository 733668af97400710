/** The bootstrap in a small house of its own: stand-ins for npm, the compiler, the pages' build and the demo say what was called, and when. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

let house: string

beforeEach(() => {
  house = mkdtempSync(join(tmpdir(), 'pawl-bootstrap-test-'))
  write('scripts/bootstrap.mjs', '')
  copyFileSync(fileURLToPath(new URL('../../scripts/bootstrap.mjs', import.meta.url)), join(house, 'scripts/bootstrap.mjs'))
  write('package-lock.json', '{"one":1}')
  write('bin/npm', '#!/bin/sh\necho "npm begin" >> calls; sleep 0.3; mkdir -p node_modules; echo "npm end" >> calls\n')
  chmodSync(join(house, 'bin/npm'), 0o755)
  write('node_modules/typescript/bin/tsc', `require('node:fs').appendFileSync('calls', 'tsc\\n')`)
  write('apps/dashboard/web/build.mjs', `import { appendFileSync } from 'node:fs'\nappendFileSync('calls', 'pages\\n')`)
  write('packages/pawl/dist/main.js', `
    if (process.argv[3] === 'wait') {
      process.on('SIGTERM', () => process.exit(42))
      setInterval(() => {}, 1000)
      require('node:fs').writeFileSync('waiting', '')
    } else process.exit(Number(process.argv[3]))`)
})

afterEach(() => rmSync(house, { recursive: true, force: true }))

test('an unchanged clone is installed once, a changed lockfile again, and the exit code is the command’s', async () => {
  expect(await exitOf(start('demo', '7'))).toBe(7)
  expect(await exitOf(start('demo', '0'))).toBe(0)
  expect(readCalls()).toEqual(['npm begin', 'npm end', 'tsc', 'pages', 'tsc', 'pages'])
  write('package-lock.json', '{"two":2}')
  expect(await exitOf(start('demo', '0'))).toBe(0)
  expect(readCalls().slice(6)).toEqual(['npm begin', 'npm end', 'tsc', 'pages'])
})

test('two at once install one after the other, and the second finds it done', async () => {
  const codes = await Promise.all([exitOf(start('demo', '0')), exitOf(start('demo', '0')), exitOf(start('build'))])
  expect(codes).toEqual([0, 0, 0])
  expect(readCalls()).toEqual(['npm begin', 'npm end', 'tsc', 'pages', 'tsc', 'pages', 'tsc', 'pages'])
})

test('the lock of one that was killed while it installed does not stop the next', async () => {
  const killed = start('build')
  await until(() => existsSync(join(house, 'calls')))
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  expect(existsSync(join(house, '.pawl/bootstrap'))).toBe(true)
  expect(await exitOf(start('build'))).toBe(0)
  expect(existsSync(join(house, '.pawl/bootstrap'))).toBe(false)
})

test('SIGTERM reaches the command, and its answer comes back', async () => {
  const child = start('demo', 'wait')
  await until(() => existsSync(join(house, 'waiting')))
  child.kill('SIGTERM')
  expect(await exitOf(child)).toBe(42)
})

function start(...words: string[]): ReturnType<typeof spawn> {
  return spawn(process.execPath, [join(house, 'scripts/bootstrap.mjs'), ...words], { stdio: 'ignore', env: { ...process.env, PATH: `${join(house, 'bin')}:${process.env['PATH'] ?? ''}` } })
}

async function exitOf(child: ReturnType<typeof spawn>): Promise<unknown> {
  if (child.exitCode === null) await once(child, 'exit')
  return child.exitCode
}

function write(path: string, content: string): void {
  mkdirSync(dirname(join(house, path)), { recursive: true })
  writeFileSync(join(house, path), content)
}

function readCalls(): string[] {
  return readFileSync(join(house, 'calls'), 'utf8').trim().split('\n')
}

async function until(isTrue: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!isTrue()) {
    if (Date.now() > deadline) throw new Error('waited for 10 s')
    await sleep(10)
  }
}
