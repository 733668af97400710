/** What the docs show is run: snippets are imported and put to work, commands must exist. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
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

test('every TypeScript snippet of the docs loads, and the README\'s agent does its run', async () => {
  const agents: AnyAgent[] = []
  for (const page of pages) {
    for (const [i, code] of fences(page, 'ts').entries()) {
      const path = join(scratch, `${page.replaceAll(/[^a-z]/gi, '-')}-${i}.ts`)
      writeFileSync(path, code)
      const module = (await import(pathToFileURL(path).href)) as Record<string, unknown>
      agents.push(...Object.values(module).filter((value): value is AnyAgent => (value as { kind?: unknown } | undefined)?.kind === 'pawl.agent'))
    }
  }
  const agent = agents.find((one) => one.name === 'greeting')
  if (!agent) throw new Error('the README shows no agent "greeting"')
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
