/**
 * Real Postgres and Redis for every test file, started once per run and stopped with it.
 *
 * Postgres: PAWL_TEST_DATABASE_URL, or an embedded one of this run's own under `.pawl/`. Redis: REDIS_URL, or a server
 * found on PATH. Without a Redis (or a pgbouncer, or a promtool) the suites that need it do not run; the run says so at its end, and fails in CI.
 * The embedded package is imported by path: vitest loads this file outside the conditions that lead to sources, and a
 * stale build must not pass for a fresh one.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startEmbedded, stopEmbedded } from '../../packages/embedded/src/index.ts'
import { Client } from 'pg'
import type { TestProject } from 'vitest/node'
import { findRedisBinary, startRedis } from './redis-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string
    redisUrl: string | null
    /** A file that collects the suites that did not run, one per line: what they need, a tab, their name. */
    notRunFile: string
  }
}

type Stop = () => Promise<void>

const pawlFolder = fileURLToPath(new URL('../../.pawl', import.meta.url))

export default async function setUp(project: TestProject): Promise<Stop> {
  const notRunFolder = mkdtempSync(join(tmpdir(), 'pawl-not-run-'))
  const notRunFile = join(notRunFolder, 'suites')
  writeFileSync(notRunFile, '')
  const redis = await provideRedis()
  const postgres = await providePostgres().catch(async (error: unknown) => {
    await redis.stop()
    throw error
  })
  project.provide('postgresUrl', postgres.url)
  project.provide('redisUrl', redis.url)
  project.provide('notRunFile', notRunFile)
  return async () => {
    await Promise.all([postgres.stop(), redis.stop()])
    reportNotRun(readFileSync(notRunFile, 'utf8'))
    rmSync(notRunFolder, { recursive: true, force: true })
  }
}

async function providePostgres(): Promise<{ url: string; stop: Stop }> {
  const given = process.env['PAWL_TEST_DATABASE_URL']
  if (given !== undefined && given !== '') {
    await runOnce(given, 'select 1')
    return { url: given, stop: async () => undefined }
  }
  await removeLeftovers()
  const folder = join(pawlFolder, `test-${process.pid}`)
  const embedded = await startEmbedded({ folder, log: (line) => process.stderr.write(`test services: ${line}\n`) })
  if (process.env['PAWL_TEST_FSYNC'] === 'off') {
    await runOnce(embedded.url, 'alter system set fsync = off')
    await runOnce(embedded.url, 'select pg_reload_conf()')
  }
  return {
    url: embedded.url,
    stop: async () => {
      await embedded.release()
      for (const path of [folder, embedded.folder]) rmSync(path, { recursive: true, force: true })
    },
  }
}

/** Of runs that were killed. */
async function removeLeftovers(): Promise<void> {
  for (const name of listNames(pawlFolder)) {
    const pid = Number(/^test-(\d+)$/.exec(name)?.[1])
    if (!Number.isInteger(pid) || isAlive(pid)) continue
    await stopEmbedded(join(pawlFolder, name)).catch((error: unknown) => console.error(`test services: ${name} could not be stopped:`, error))
    rmSync(join(pawlFolder, name), { recursive: true, force: true })
  }
}

async function provideRedis(): Promise<{ url: string | null; stop: Stop }> {
  const given = process.env['REDIS_URL']
  if (given !== undefined && given !== '') return { url: given, stop: async () => undefined }
  if (findRedisBinary() === null) return { url: null, stop: async () => undefined }
  const server = await startRedis()
  return { url: server.url, stop: async () => server.stop() }
}

const helps: Readonly<Record<string, string>> = {
  redis: 'Set REDIS_URL, or put redis-server or valkey-server on PATH (Debian: apt-get install redis-server).',
  pgbouncer: 'Put pgbouncer on PATH (Debian: apt-get install pgbouncer).',
  promtool: 'Put promtool on PATH (Debian: it is in the package prometheus).',
}

function reportNotRun(lines: string): void {
  const suites = [...new Set(lines.split('\n').filter((line) => line !== ''))].map((line) => line.split('\t'))
  for (const [need, help] of Object.entries(helps)) {
    const names = suites.filter(([needed]) => needed === need).map(([, name]) => name)
    if (names.length === 0) continue
    console.error(`\n${'='.repeat(80)}\nNOT RUN: ${names.length} suites need ${need}: ${names.join(', ')}\n${help}\n${'='.repeat(80)}\n`)
    if (process.env['CI'] === 'true') process.exitCode = 1
  }
}

async function runOnce(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  await client.connect()
  await client.query(text)
  await client.end()
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
