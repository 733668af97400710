/** Examples killed half-way and resumed, on a backend of the queue, in their small form. `.ci/run` plays the migration whole, on both. */
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { Report } from './report.ts'

const main = new URL('../dist/main.js', import.meta.url).pathname

async function runDemo(example: string, redisUrl: string | undefined): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-demo-'))
  chmodSync(folder, 0o755) // the server's account has to pass through
  const { REDIS_URL: _, ...env } = process.env
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [main, '--example', example, '--small', '--json', '--folder', folder], { env: redisUrl === undefined ? env : { ...env, REDIS_URL: redisUrl } })
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Report
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export function killedAndResumed(examples: readonly string[], redisUrl: string | undefined): void {
  test.each(examples)('the %s example is killed half-way, resumes, and does nothing twice', async (example) => {
    const report = await runDemo(example, redisUrl)
    expect(report).toMatchObject({ example, queue: redisUrl === undefined ? 'postgres' : 'redis', duplicates: 0, lost: 0, ok: true })
    expect(report.kills).toBeGreaterThanOrEqual(3)
    expect(report.inFlightAtKill).toBeGreaterThan(0)
    if (example !== 'research') return
    expect(report.repeatedDecisions).toBe(0)
    expect(report.modelCalls).toBe((report.turns ?? 0) + (report.interruptedTurns ?? 0))
  }, 240_000)
}
