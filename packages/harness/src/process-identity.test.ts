/** Frees the leases of a living process? Only the kernel's word that it is gone is proof. */
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { identifyProcess, isProvenDead } from './process-identity.ts'

/** How many files this process may have open; few are used up at once. */
const mayOpen = (files: string) => spawnSync('prlimit', ['--pid', String(process.pid), `--nofile=${files}:`])
const limitNow = () => /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? '1024'

test.runIf(process.platform === 'linux')('a process is proved dead when it is gone, or its pid is somebody else’s; never when it only cannot be looked at', async () => {
  const child = spawn('sleep', ['60'])
  await once(child, 'spawn')
  const self = identifyProcess()
  const other = identifyProcess(child.pid)
  expect(isProvenDead(other, self)).toBe(false)
  expect(isProvenDead({ ...other, pidStartedAt: '1' }, self)).toBe(true)
  const before = limitNow()
  mayOpen('512')
  const opened: number[] = []
  try {
    for (;;) opened.push(openSync('/dev/null', 'r'))
  } catch {
    // Not a file more can be opened: /proc tells nothing now.
    expect(isProvenDead(other, self)).toBe(false)
  } finally {
    for (const file of opened) closeSync(file)
    mayOpen(before)
  }
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(isProvenDead(other, self)).toBe(true)
})
