/** Runs named claims of one test file in the scratch copy, to the first failure, within a limit; says which passed and which failed. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** Longer than the longest deadline a broken test waits for. */
const limitMs = 180_000

export async function runTests(scratch, file, claims) {
  const report = join(scratch.folder, 'report.json')
  rmSync(report, { force: true })
  const pattern = claims.map((claim) => claim.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|')
  const env = { ...process.env, PAWL_TEST_DATABASE_URL: scratch.databaseUrl, PAWL_TEST_FSYNC: 'off', FORCE_COLOR: '0' }
  const config = file.endsWith('.security.ts') ? ['--config', 'vitest.security.config.ts'] : []
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...config, file, '--bail', '1', '-t', pattern, '--reporter=json', `--outputFile=${report}`]
  const { exitCode, timedOut, output } = await run(process.execPath, args, { cwd: scratch.folder, env })
  return { exitCode, timedOut, output, ...readReport(report) }
}

function readReport(path) {
  if (!existsSync(path)) return { passed: [], failed: [] }
  const tests = JSON.parse(readFileSync(path, 'utf8')).testResults.flatMap((one) => one.assertionResults)
  const named = (status) => tests.filter((test) => test.status === status).map((test) => test.fullName)
  return { passed: named('passed'), failed: named('failed') }
}

/** In a process group of its own, so that what it started ends with it. */
function run(command, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => { output = (output + bytes).slice(-8_000) })
    let timedOut = false
    const end = () => { if (child.pid !== undefined) endGroup(child.pid) }
    const timer = setTimeout(() => { timedOut = true; end() }, limitMs)
    process.once('exit', end)
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(timer)
      process.off('exit', end)
      resolve({ exitCode: code ?? 1, timedOut, output })
    })
  })
}

function endGroup(leader) {
  try {
    process.kill(-leader, 'SIGKILL')
  } catch {
    // it has ended
  }
}
