/** What a path that a model or a payload chose can reach: nothing outside the root, whatever its names are and whatever somebody does to the folders meanwhile. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NotApplied } from '@pawl/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { rejection, testContext } from '../../packages/tools/src/fixtures/context.testsuite.ts'
import { fsTools, type FsTools } from '../../packages/tools/src/fs/index.ts'

let base: string
let root: string
let tools: FsTools
const secret = 'the secret of another folder'
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'pawl-jail-'))
  root = join(base, 'root')
  mkdirSync(root)
  mkdirSync(join(base, 'outside'))
  writeFileSync(join(base, 'outside', 'secret'), secret)
  tools = fsTools({ root })
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

/** Every tool that takes a path, asked to use this one. */
const asked = (path: string): [string, () => Promise<unknown>][] => [
  ['read', () => tools.read.execute({ path }, testContext(`r ${path}`))],
  ['write', () => tools.write.execute({ path, content: 'overwritten' }, testContext(`w ${path}`))],
  ['remove', () => tools.remove.execute({ path }, testContext(`x ${path}`))],
  ['move from', () => tools.move.execute({ from: path, to: 'stolen' }, testContext(`f ${path}`))],
  ['move to', async () => { writeFileSync(join(root, 'own'), 'own'); return await tools.move.execute({ from: 'own', to: path }, testContext(`t ${path}`)) }],
  ['restore', () => tools.restore.execute({ path, ifHash: null, content: null }, testContext(`u ${path}`))],
]
const outsideIsWhole = (): void => {
  expect(readdirSync(join(base, 'outside'))).toEqual(['secret'])
  expect(readFileSync(join(base, 'outside', 'secret'), 'utf8')).toBe(secret)
  expect(existsSync(join(root, 'stolen'))).toBe(false)
}

test.for([
  '../outside/secret', '/etc/passwd', 'a/../../outside/secret', '..', '.', '', '/', './x', 'a//b', 'a/', 'a/./b', '..\\outside\\secret', 'C:\\x', '\\\\host\\share', 'x\0', '../outside/secret\0.txt', 'a\nb', 'a/..', '.pawl-undo/x', '.PAWL-UNDO/x', '.Pawl-Undo', 'a/b/../../../x', 'long',
])('the name %j is refused before anything is opened', (name) => {
  const path = name === 'long' ? 'x'.repeat(1_001) : name
  for (const input of [{ path }, { path, content: 'x' }]) expect(('content' in input ? tools.write : tools.read).inputSchema.safeParse(input).success).toBe(false)
  expect(tools.move.inputSchema.safeParse({ from: 'a', to: path }).success).toBe(false)
  expect(tools.move.inputSchema.safeParse({ from: path, to: 'a' }).success).toBe(false)
  expect(tools.remove.inputSchema.safeParse({ path }).success).toBe(false)
  expect(tools.restore.inputSchema.safeParse({ path, ifHash: null, content: null }).success).toBe(false)
})

test.for(['%2e%2e/outside/secret', '..%2foutside%2fsecret', '．．／outside', '…', '~/x', '$HOME/x', '`id`', '|id', '-rf', 'con', 'x:stream'])('the name %j is a name and nothing else', async (path) => {
  for (const [, act] of asked(path)) await act().catch((error: unknown) => expect(error).toBeInstanceOf(NotApplied))
  outsideIsWhole()
})

describe('links', () => {
  test('are followed neither as the file nor on the way, by no tool', async () => {
    symlinkSync(join(base, 'outside', 'secret'), join(root, 'file'))
    symlinkSync(join(base, 'outside'), join(root, 'way'))
    symlinkSync('../outside', join(root, 'relative'))
    symlinkSync('/proc/self/root', join(root, 'proc'))
    mkdirSync(join(root, 'deep'))
    symlinkSync('../../outside', join(root, 'deep', 'way'))
    symlinkSync('loop', join(root, 'loop'))
    const reached: string[] = []
    for (const path of ['file', 'way/secret', 'relative/secret', 'deep/way/secret', 'proc/etc/passwd', 'loop', 'loop/x', 'way/new', 'relative/made/deep/new', 'file/x']) {
      for (const [name, act] of asked(path)) {
        const outcome = await act().then((value) => `gave ${JSON.stringify(value)}`, (error: unknown) => (error instanceof NotApplied ? undefined : `threw ${String(error)}`))
        if (outcome !== undefined) reached.push(`${name} ${path}: ${outcome}`)
      }
    }
    expect(reached).toEqual([])
    outsideIsWhole()
  })

  test('that take a folder’s place again and again, at whatever moment, lead nowhere: nothing is read, written or made outside', { timeout: 90_000 }, async () => {
    mkdirSync(join(root, 'folder', 'deep'), { recursive: true })
    writeFileSync(join(root, 'folder', 'secret'), 'own')
    const swapping = spawn(process.execPath, ['-e', `
      const { renameSync, rmSync, symlinkSync, unlinkSync } = require('node:fs'); process.chdir(${JSON.stringify(root)})
      // A write may make the folder anew while it is away: then that one makes room.
      const place = (put) => { for (;;) try { return put() } catch { try { rmSync('folder', { recursive: true, force: true }) } catch {} } }
      for (let i = 0; ; i++) { renameSync('folder', 'aside'); place(() => symlinkSync('../outside', 'folder')); if (i === 0) console.log('at it'); unlinkSync('folder'); place(() => renameSync('aside', 'folder')) }`], { stdio: ['ignore', 'pipe', 'ignore'] })
    await once(swapping.stdout, 'data')
    try {
      // Until both happened: the folder was there for some, the link for others.
      const met = { folder: 0, link: 0 }
      for (let i = 0; i < 100 || met.folder === 0 || met.link === 0; i++) {
        const read = await tools.read.execute({ path: 'folder/secret' }, testContext(`r${i}`)).then(({ content }) => content, (error: unknown) => { expect(error).toBeInstanceOf(NotApplied) })
        expect(read ?? 'own').toBe('own')
        met[read === undefined ? 'link' : 'folder'] += 1
        if (i % 4 === 0) await tools.write.execute({ path: `folder/made${i}/deep/file`, content: 'x' }, testContext(`w${i}`)).catch((error: unknown) => error)
      }
      outsideIsWhole()
    } finally {
      swapping.kill('SIGKILL')
      await once(swapping, 'close')
    }
  })
})

describe('what is no plain file', () => {
  test('is neither read nor replaced, and holds nobody up: pipes, sockets, folders, devices', async () => {
    expect(spawnSync('mkfifo', [join(root, 'pipe')]).status).toBe(0)
    mkdirSync(join(root, 'folder'))
    symlinkSync('/dev/zero', join(root, 'zero'))
    symlinkSync('/dev/stdin', join(root, 'stdin'))
    const paths = ['pipe', 'folder', 'zero', 'stdin']
    // Only who may make devices can meet them here.
    if (spawnSync('mknod', [join(root, 'device'), 'c', '1', '5']).status === 0) paths.push('device')
    for (const path of paths) {
      const begun = Date.now()
      expect(await rejection(tools.read.execute({ path }, testContext(`r${path}`))), path).toBeInstanceOf(NotApplied)
      expect(await rejection(tools.write.execute({ path, content: 'x' }, testContext(`w${path}`))), path).toBeInstanceOf(NotApplied)
      expect(Date.now() - begun, path).toBeLessThan(5_000)
    }
    expect(readdirSync(root).toSorted()).toEqual(expect.arrayContaining(paths.toSorted()))
  })

  test('is not read past its limit', async () => {
    writeFileSync(join(root, 'big'), 'x'.repeat(2_000))
    expect(await rejection(fsTools({ root, maxBytes: 1_000 }).read.execute({ path: 'big' }, testContext()))).toBeInstanceOf(NotApplied)
  })

  test('and a second name of a file outside is replaced, not written through', async () => {
    linkSync(join(base, 'outside', 'secret'), join(root, 'hard'))
    await tools.write.execute({ path: 'hard', content: 'mine' }, testContext())
    expect(readFileSync(join(root, 'hard'), 'utf8')).toBe('mine')
    outsideIsWhole()
  })
})
