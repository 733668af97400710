/** What the docs show is run: snippets are imported and put to work, commands must exist. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { startProducer } from '../apps/producer/src/index.ts'
import { createClient, type PawlClient } from '../packages/client/src/index.ts'
import { encode, newRunId } from '../packages/core/src/index.ts'
import { dispatchRun, Harness, type AnyAgent } from '../packages/harness/src/index.ts'
import { Ledger, migrateLedger, readIdentity, readRun, startRun } from '../packages/ledger/src/index.ts'
import { connectQueue, type Queue } from '../packages/queue/src/index.ts'
import { freshDatabase, type FreshDatabase } from './setup/fixtures.ts'

const root = new URL('..', import.meta.url).pathname
// Below the workspace, so that "pawl" and "zod" resolve for the snippet as they do for a user.
const scratch = join(root, 'examples', 'mailing', `.docs-${process.pid}`)
const pages = ['README.md', 'CONTRIBUTING.md', 'ARCHITECTURE.md', ...readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)]

const fences = (page: string, language: string): string[] =>
  [...readFileSync(join(root, page), 'utf8').matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map((match) => match[1] ?? '')

let database: FreshDatabase
let ledger: Ledger
let queue: Queue
let ledgerId: string

beforeAll(async () => {
  mkdirSync(scratch, { recursive: true })
  database = await freshDatabase()
  ledger = new Ledger({ url: database.url })
  await migrateLedger(ledger)
  ledgerId = (await readIdentity(ledger)).id
  queue = connectQueue({ backend: 'postgres', url: database.url, ledgerId, onError: () => {} })
  await queue.ready()
})

afterAll(async () => {
  await queue.close()
  await ledger.close()
  await database.drop()
  rmSync(scratch, { recursive: true, force: true })
})

/** What each page's snippets export, imported as a user would. */
async function loadSnippets(): Promise<Map<string, Record<string, unknown>>> {
  const found = new Map<string, Record<string, unknown>>()
  for (const page of pages) {
    for (const [i, code] of fences(page, 'ts').entries()) {
      const path = join(scratch, `${page.replaceAll(/[^a-z]/gi, '-')}-${i}.ts`)
      writeFileSync(path, code)
      found.set(page, { ...found.get(page), ...(await import(pathToFileURL(path).href)) as Record<string, unknown> })
    }
  }
  return found
}

const isAgent = (value: unknown): value is AnyAgent => (value as { kind?: unknown } | undefined)?.kind === 'pawl.agent'
async function greetingAgent(): Promise<AnyAgent> {
  const agents = [...(await loadSnippets()).values()].flatMap((snippets) => Object.values(snippets)).filter(isAgent)
  const agent = agents.find((one) => one.name === 'greeting')
  if (!agent) throw new Error('the README shows no agent "greeting"')
  return agent
}

test('every TypeScript snippet of the docs loads, and the README\'s agent does its run', async () => {
  const agent = await greetingAgent()
  const harness = await Harness.start({ ledger, queue, agents: [agent], concurrency: 5, roles: ['items', 'splits'], log: () => {} })
  const id = newRunId()
  await startRun(ledger, {
    id, namespace: 'default', key: null, digest: null, agent: agent.name, agentVersion: agent.version, modelVersion: null, promptVersion: null, schemaVersion: 1, lockDigest: null,
    input: encode({ names: ['Ada', 'Grace', 'Edsger'] }, { what: 'input' }), labels: {}, policy: {}, createdBy: 'docs', split: true,
  })
  await dispatchRun({ ledger, queue, ledgerId }, id)
  await expect.poll(async () => (await readRun(ledger, id))?.status, { timeout: 25_000 }).toBe('completed')
  await harness.stop()
})

const httpPage = z.object({
  startAndFollow: z.custom<(pawl: PawlClient) => Promise<string>>(), allRuns: z.custom<(pawl: PawlClient) => AsyncIterable<{ id: string }>>(),
  cancelAll: z.custom<(pawl: PawlClient) => Promise<{ done: number; failed: number }>>(), countLines: z.custom<(pawl: PawlClient, runId: string) => Promise<number>>(),
}).loose()

test('what docs/http.md shows does what it says: over HTTP and, the same, on the ledger itself', async () => {
  const agent = await greetingAgent()
  const { startAndFollow, allRuns, cancelAll, countLines } = httpPage.parse((await loadSnippets()).get('docs/http.md'))
  const producer = await startProducer({ agents: [agent], env: { DATABASE_URL: database.url, PAWL_QUEUE: 'postgres', PAWL_PORT: '0', PAWL_LOG_LEVEL: 'silent' } })
  try {
    for (const [namespace, pawl] of [['default', createClient({ url: producer.url })], ['docs', createClient({ ledger, agents: [agent], namespace: 'docs', dispatch: (runId) => dispatchRun({ ledger, queue, ledgerId }, runId) })]] as const) {
      const harness = await Harness.start({ ledger, queue, agents: [agent], concurrency: 5, roles: ['items'], log: () => {} })
      try {
        expect(await startAndFollow(pawl)).toBe('completed')
      } finally {
        // Nobody works from here on: the runs that are started now stay as they are.
        await harness.stop()
      }
      const [done] = (await pawl.listRuns({ search: 'order-77' })).entries
      expect(done).toMatchObject({ namespace, labels: { team: 'red', order: '77' } })
      const live: string[] = []
      for (let i = 0; i < 4; i++) live.push((await pawl.startRun('greeting', { names: ['x'] }, { items: [{ key: 'x', payload: { name: 'x' } }], labels: { team: 'red' } })).id)
      const seen: string[] = []
      for await (const run of allRuns(pawl)) seen.push(run.id)
      expect(seen).toEqual([...live.toReversed(), done?.id])
      expect((await pawl.countRuns({ labels: { team: 'red' } })).byStatus.running).toBe(4)
      expect(await cancelAll(pawl)).toEqual({ done: 4, failed: 0 })
      const lines = await countLines(pawl, done?.id ?? '')
      expect(lines).toBeGreaterThanOrEqual(1 + 3 + 2 + 3)
    }
    for (const request of fences('docs/http.md', 'http').flatMap((text) => text.trim().split('\n'))) {
      const [method, path] = request.split(' ')
      const answer = await fetch(`${producer.url}${path ?? ''}`, { method: method ?? '' })
      expect([request, answer.status]).toEqual([request, 200])
      expect(Object.keys(await answer.json() as object).length).toBeGreaterThan(1)
    }
  } finally {
    await producer.close()
  }
}, 90_000)

test('every command the docs show exists', () => {
  const scripts = Object.keys((JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }).scripts)
  const help = execFileSync(process.execPath, [join(root, 'packages/pawl/dist/main.js'), '--help'], { encoding: 'utf8' })
  const missing: string[] = []
  for (const page of pages) {
    const text = readFileSync(join(root, page), 'utf8')
    for (const [, script = ''] of text.matchAll(/\bnpm run ([a-z:]+)/g)) if (!scripts.includes(script)) missing.push(`${page}: npm run ${script}`)
    for (const [, command = ''] of text.matchAll(/(?:`|^|\$ )pawl ([a-z]+)/gm)) if (!new RegExp(`^\\s+${command}\\b`, 'm').test(help)) missing.push(`${page}: pawl ${command}`)
  }
  expect(missing).toEqual([])
})

test('every file the docs link to is there', () => {
  const broken: string[] = []
  for (const page of pages) {
    for (const [, target = ''] of readFileSync(join(root, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
      try {
        readFileSync(join(root, page, '..', target))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EISDIR') broken.push(`${page}: ${target}`)
      }
    }
  }
  expect(broken).toEqual([])
})
