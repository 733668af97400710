/** What a test file asks of the run's services; import by relative path. */
import { randomBytes } from 'node:crypto'
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { describe, inject } from 'vitest'
import type {} from './services.ts'

export interface FreshDatabase {
  readonly url: string
  /** Ends whatever is still connected to it. */
  drop(): Promise<void>
}

/** An empty database of the caller's own on the run's Postgres: one per test file is the habit. */
export async function freshDatabase(): Promise<FreshDatabase> {
  return await makeDatabase('')
}

/** A copy of a database nobody is connected to. */
export async function copyDatabase({ url }: FreshDatabase): Promise<FreshDatabase> {
  return await makeDatabase(` template ${new URL(url).pathname.slice(1)}`)
}

async function makeDatabase(options: string): Promise<FreshDatabase> {
  const server = inject('postgresUrl')
  const name = `test_${randomBytes(8).toString('hex')}`
  await runOnServer(server, `create database ${name}${options}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, drop: async () => runOnServer(server, `drop database if exists ${name} with (force)`) }
}

/**
 * A suite that needs a real Redis. Without one its tests count as skipped and the run says so at its end (and fails in CI).
 * The Redis is shared by all files: use a prefix of your own, and never FLUSHALL; for that there is `startRedis`.
 */
export function describeRedis(name: string, suite: (redisUrl: string) => void): void {
  const redisUrl = inject('redisUrl')
  if (redisUrl === null) noteNotRun('redis', name)
  describe.skipIf(redisUrl === null)(name, () => suite(redisUrl ?? 'redis://127.0.0.1:1'))
}

/** A suite that needs a real pgbouncer before the run's Postgres; without one, as above. */
export function describePgBouncer(name: string, isThere: boolean, suite: () => void): void {
  if (!isThere) noteNotRun('pgbouncer', name)
  describe.skipIf(!isThere)(name, suite)
}

/** A suite that needs Prometheus's promtool; without one, as above. */
export function describePromtool(name: string, suite: (promtool: string) => void): void {
  const found = [...(process.env['PATH'] ?? '').split(':'), '/usr/bin'].map((folder) => join(folder, 'promtool')).find((path) => existsSync(path))
  if (found === undefined) noteNotRun('promtool', name)
  describe.skipIf(found === undefined)(name, () => suite(found ?? 'promtool'))
}

function noteNotRun(need: 'redis' | 'pgbouncer' | 'promtool', name: string): void {
  appendFileSync(inject('notRunFile'), `${need}\t${name}\n`)
}

async function runOnServer(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}
