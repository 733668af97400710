/** The classifications, against the published servers: each is an argument about their behaviour, and a new version of theirs may end it. */
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { auditTool } from 'pawl/testing'
import type { McpTool } from 'pawl/tools/mcp'
import { readEntities } from './memory-book.ts'
import { startOutside, type Outside } from './outside.ts'
import { readSettings } from './settings.ts'
import { openTools, type ResearchTools } from './tools.ts'

const folder = mkdtempSync(join(tmpdir(), 'pawl-research-'))
let outside: Outside
let opened: ResearchTools
const root = realpathSync(folder)
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

beforeAll(async () => {
  outside = await startOutside(folder, ['tides'], { model: 0, memory: 0, mail: 0 })
  opened = await openTools(readSettings(outside.env))
})
afterAll(async () => {
  await opened.close()
  await outside.close()
  rmSync(folder, { recursive: true, force: true })
})

const call = { key: 'k', epoch: 1, attempt: 1, runId: 'r', itemKey: 'tides', evidence: [], fetch, guard: () => {}, note: async () => {} }
const now = () => ({ ...call, signal: AbortSignal.timeout(10_000), deadline: new Date(Date.now() + 10_000) })
type Context = Parameters<ResearchTools['tools']['mail']['execute']>[1]
const run = async (name: string, input: Record<string, unknown>): Promise<unknown> => await toolOf(name).execute(input, now() as unknown as Context)
const verify = async (name: string, input: Record<string, unknown>): Promise<string | undefined> => (await toolOf(name).verify?.(input, now()))?.verdict
function toolOf(name: string) {
  const tool = (opened.tools as Record<string, unknown>)[name]
  if (tool === undefined) throw new Error(`there is no tool ${name}`)
  return tool as McpTool
}

test('writing a note again leaves it as it is; editing it again does not, so the file is asked whether the edit is in it', async () => {
  const note = { path: 'drafts/tides.md', content: '# tides\n\n## Finding\n' }
  await run('write_file', note)
  await run('write_file', note)
  expect(read('drafts/tides.md')).toBe(note.content)
  const edit = { path: 'drafts/tides.md', edits: [{ oldText: '## Finding', newText: '## Finding\n\nIn short: twice a day.' }] }
  expect(await verify('edit_file', edit)).toBe('notApplied')
  await run('edit_file', edit)
  expect(await verify('edit_file', edit)).toBe('applied')
  await run('edit_file', edit)
  expect(read('drafts/tides.md').split('In short:')).toHaveLength(3)
  expect(await verify('edit_file', { ...edit, path: 'drafts/nowhere.md' })).toBe('unknown')
})

test('whether a note was moved is told by both of its places, and is unknown where neither has it', async () => {
  const move = { source: 'drafts/tides.md', destination: 'published/tides.md' }
  expect(await verify('move_file', move)).toBe('notApplied')
  await run('move_file', move)
  expect(await verify('move_file', move)).toBe('applied')
  rmSync(join(root, 'published/tides.md'))
  expect(await verify('move_file', move)).toBe('unknown')
})

test('an entity is created once, however often and however much at once it is asked for', async () => {
  let n = 0
  const audit = await auditTool(toolOf('create_entities'), { input: () => ({ entities: [{ name: `tide-${++n}`, entityType: 'topic', observations: [] }] }), count: () => readEntities(outside.books.graph).length })
  expect(audit).toMatchObject({ effects: { one: 1, again: 0, atOnce: 1 }, problems: [] })
})

test('a model may call what was read through and nothing else of the servers; the mail is held back, and publishing asks a person', () => {
  expect(Object.keys(opened.tools).toSorted()).toEqual(['create_entities', 'edit_file', 'mail', 'move_file', 'read_text_file', 'write_file'])
  expect(opened.tools.mail).toMatchObject({ stage: true, irreversible: true, effect: 'non-idempotent' })
  expect(toolOf('move_file')).toMatchObject({ approval: 'always', irreversible: true })
})
