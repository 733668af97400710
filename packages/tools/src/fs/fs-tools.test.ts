import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NotApplied } from '@pawl/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rejection, testContext, verifyContext } from '../fixtures/context.testsuite.ts'
import { NotSent } from '../not-sent.ts'
import type { AnyTool } from '../define-tool.ts'
import { fsTools, type FsTools } from './fs-tools.ts'
import { hashOf } from './keyed-change.ts'

let base: string
let root: string
let tools: FsTools
const at = (path: string) => join(root, path)
const text = (path: string) => readFile(at(path), 'utf8')
const hash = (content: string) => hashOf(Buffer.from(content))

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'pawl-fs-'))
  root = join(base, 'root')
  await mkdir(root)
  await writeFile(join(base, 'secret'), 'secret')
  tools = fsTools({ root })
})
afterEach(() => rm(base, { recursive: true, force: true }))

/** A guard that lets `act` happen at the last moment before the change. */
const atTheGuard = (act: () => void, key = 'k') => testContext(key, { guard: act })

async function undo(tool: AnyTool, input: unknown, result: unknown, key = 'k'): Promise<unknown> {
  return tool.undo?.tool.execute(tool.undo.input({ input, result }), testContext(`undo:${key}`))
}

describe('the jail', () => {
  it('refuses names that leave it or reach its own records', () => {
    for (const path of ['../secret', '/etc/passwd', 'a/../../secret', 'a/./b', 'a//b', '', '.', '..', 'a\0b', 'a\\..\\b', '.pawl-undo/x', '.PAWL-UNDO']) {
      expect(tools.read.inputSchema.safeParse({ path }).success, path).toBe(false)
      expect(tools.move.inputSchema.safeParse({ from: 'a', to: path }).success, path).toBe(false)
    }
  })

  it('does not follow links, neither as the file nor on the way', async () => {
    await symlink(join(base, 'secret'), at('link'))
    await symlink(base, at('way-out'))
    for (const path of ['link', 'way-out/secret']) {
      expect(await rejection(tools.read.execute({ path }, testContext())), path).toBeInstanceOf(NotApplied)
      expect(await rejection(tools.write.execute({ path, content: 'x' }, testContext(path))), path).toBeInstanceOf(NotApplied)
      expect(await rejection(tools.remove.execute({ path }, testContext(`r${path}`))), path).toBeInstanceOf(NotApplied)
    }
    expect(await rejection(tools.write.execute({ path: 'way-out/made/deep', content: 'x' }, testContext('deep')))).toBeInstanceOf(NotApplied)
    expect(await readdir(base)).toEqual(['root', 'secret'])
    expect(await readFile(join(base, 'secret'), 'utf8')).toBe('secret')
  })

  it.runIf(process.platform === 'linux')('a folder swapped for a link at the last moment leads nowhere', async () => {
    await mkdir(at('folder'))
    await mkdir(join(base, 'outside'))
    const swap = () => {
      expect(spawnSync('sh', ['-c', `mv folder old && ln -s ../outside folder`], { cwd: root }).status).toBe(0)
    }
    await tools.write.execute({ path: 'folder/a', content: 'x' }, atTheGuard(swap))
    expect(await readdir(join(base, 'outside'))).toEqual([])
    expect(await text('old/a')).toBe('x')
  })

  it('does not open devices, pipes or folders', async () => {
    expect(spawnSync('mkfifo', [at('pipe')]).status).toBe(0)
    await mkdir(at('folder'))
    for (const path of ['pipe', 'folder']) {
      expect(await rejection(tools.read.execute({ path }, testContext())), path).toBeInstanceOf(NotApplied)
      expect(await rejection(tools.write.execute({ path, content: 'x' }, testContext(path))), path).toBeInstanceOf(NotApplied)
    }
  })
})

describe('fs.read', () => {
  it('returns text, and base64 where it is none', async () => {
    await writeFile(at('a'), 'grüße')
    await writeFile(at('b'), Buffer.from([0xff, 0xfe, 0]))
    expect(await tools.read.execute({ path: 'a' }, testContext())).toEqual({ content: 'grüße', encoding: 'utf8', bytes: 7, hash: hash('grüße') })
    expect(await tools.read.execute({ path: 'b' }, testContext())).toMatchObject({ content: '//4A', encoding: 'base64' })
    expect(await rejection(tools.read.execute({ path: 'c' }, testContext()))).toMatchObject({ message: 'there is no file "c".' })
    expect(await rejection(fsTools({ root, maxBytes: 3 }).read.execute({ path: 'a' }, testContext()))).toMatchObject({ message: expect.stringContaining('7 bytes') as string })
  })
})

describe('fs.write', () => {
  it('makes folders, replaces in one step, keeps the mode, leaves no temporary file', async () => {
    expect(await tools.write.execute({ path: 'a/b/c', content: 'one' }, testContext('1'))).toEqual({ bytes: 3, hash: hash('one'), before: null })
    await chmod(at('a/b/c'), 0o700)
    expect(await tools.write.execute({ path: 'a/b/c', content: 'dHdv', encoding: 'base64' }, testContext('2'))).toMatchObject({ before: hash('one') })
    expect(await text('a/b/c')).toBe('two')
    expect((await stat(at('a/b/c'))).mode & 0o777).toBe(0o700)
    expect(await readdir(at('a/b'))).toEqual(['c'])
  })

  it('repeated with its key returns the same result, and never overwrites something newer', async () => {
    await writeFile(at('a'), 'zero')
    const first = await tools.write.execute({ path: 'a', content: 'one' }, testContext('k'))
    expect(await tools.write.execute({ path: 'a', content: 'one' }, testContext('k'))).toEqual(first)
    await tools.write.execute({ path: 'a', content: 'two' }, testContext('other'))
    expect(await tools.write.execute({ path: 'a', content: 'one' }, testContext('k'))).toEqual(first)
    expect(await text('a')).toBe('two')
  })

  it('refused, it may be made again once somebody has mended the file', async () => {
    const input = { path: 'a', content: 'one', ifHash: hash('zero') }
    expect(await rejection(tools.write.execute(input, testContext('k')))).toBeInstanceOf(NotApplied)
    await writeFile(at('a'), 'zero')
    expect(await tools.write.execute(input, testContext('k'))).toMatchObject({ before: hash('zero') })
  })

  it('a file that its consumer has taken away is not written a second time, and verify knows that it was written', async () => {
    const input = { path: 'inbox/order', content: '{}' }
    const first = await tools.write.execute(input, testContext('k'))
    await rm(at('inbox/order'))
    expect(await tools.write.execute(input, testContext('k'))).toEqual(first)
    expect(await tools.write.verify?.(input, verifyContext('k'))).toEqual({ verdict: 'applied', result: first })
    expect(existsSync(at('inbox/order'))).toBe(false)
  })

  it('a write that somebody took back is not made again', async () => {
    await writeFile(at('a'), 'old')
    const first = await tools.write.execute({ path: 'a', content: 'new' }, testContext('k'))
    await writeFile(at('a'), 'old')
    expect(await tools.write.execute({ path: 'a', content: 'new' }, testContext('k'))).toEqual(first)
    expect(await text('a')).toBe('old')
  })

  it('a first call that died before the rename is carried out by the second', async () => {
    await writeFile(at('a'), 'zero')
    await rejection(tools.write.execute({ path: 'a', content: 'one' }, atTheGuard(() => {
      throw new NotSent('died here')
    })))
    expect(await text('a')).toBe('zero')
    expect(await tools.write.execute({ path: 'a', content: 'one' }, testContext('k'))).toMatchObject({ before: hash('zero') })
    expect(await text('a')).toBe('one')
  })

  it('ten simultaneous calls with one key are one write', async () => {
    const results = await Promise.all(Array.from({ length: 10 }, () => tools.write.execute({ path: 'a', content: 'one' }, testContext('k'))))
    expect(new Set(results.map((result) => JSON.stringify(result)))).toEqual(new Set([JSON.stringify({ bytes: 3, hash: hash('one'), before: null })]))
    expect((await readdir(root)).toSorted()).toEqual(['.pawl-undo', 'a'])
  })

  it('ifHash holds back a write over anything else', async () => {
    await writeFile(at('a'), 'zero')
    expect(await rejection(tools.write.execute({ path: 'a', content: 'one', ifHash: null }, testContext('1')))).toBeInstanceOf(NotApplied)
    expect(await rejection(tools.write.execute({ path: 'a', content: 'one', ifHash: hash('other') }, testContext('2')))).toBeInstanceOf(NotApplied)
    expect(await text('a')).toBe('zero')
    await tools.write.execute({ path: 'a', content: 'one', ifHash: hash('zero') }, testContext('3'))
    expect(await text('a')).toBe('one')
  })

  it('a closed guard leaves the file and no temporary file', async () => {
    const context = testContext('k')
    context.closeGuard()
    expect(await rejection(tools.write.execute({ path: 'a', content: 'one' }, context))).toBeInstanceOf(NotSent)
    expect(await readdir(root)).toEqual(['.pawl-undo'])
  })

  it('verify knows its own content, and does not guess otherwise', async () => {
    const input = { path: 'a', content: 'one' }
    expect(await tools.write.verify?.(input, verifyContext('k'))).toMatchObject({ verdict: 'unknown' })
    const result = await tools.write.execute(input, testContext('k'))
    expect(await tools.write.verify?.(input, verifyContext('k'))).toEqual({ verdict: 'applied', result })
  })

  it('undo puts back what was there, or removes what was not, and leaves a later change alone', async () => {
    await writeFile(at('a'), 'zero')
    const over = { path: 'a', content: 'one' }
    const fresh = { path: 'b', content: 'new' }
    const first = await tools.write.execute(over, testContext('1'))
    const second = await tools.write.execute(fresh, testContext('2'))
    await undo(tools.write, over, first)
    await undo(tools.write, over, first)
    await undo(tools.write, fresh, second, '2')
    expect(await text('a')).toBe('zero')
    expect(existsSync(at('b'))).toBe(false)
    await writeFile(at('a'), 'somebody else')
    await undo(tools.write, over, first)
    expect(await text('a')).toBe('somebody else')
  })

  it('undo of a file somebody changed waits until it is mended by hand', async () => {
    await writeFile(at('a'), 'zero')
    const over = { path: 'a', content: 'one' }
    const first = await tools.write.execute(over, testContext('1'))
    await writeFile(at('a'), 'somebody else')
    expect(await rejection(undo(tools.write, over, first))).toBeInstanceOf(NotApplied)
    expect(await text('a')).toBe('somebody else')
    await writeFile(at('a'), 'one')
    await undo(tools.write, over, first)
    expect(await text('a')).toBe('zero')
  })
})

describe('fs.remove', () => {
  it('removes what it found, once, and can be undone', async () => {
    await writeFile(at('a'), 'one')
    const result = await tools.remove.execute({ path: 'a' }, testContext('k'))
    expect(result).toEqual({ before: hash('one') })
    expect(existsSync(at('a'))).toBe(false)
    await writeFile(at('a'), 'a successor')
    expect(await rejection(tools.remove.execute({ path: 'a' }, testContext('k')))).toBeInstanceOf(NotApplied)
    expect(await rejection(undo(tools.remove, { path: 'a' }, result))).toBeInstanceOf(NotApplied)
    expect(await text('a')).toBe('a successor')
    await rm(at('a'))
    expect(await tools.remove.execute({ path: 'a' }, testContext('k'))).toEqual(result)
    await undo(tools.remove, { path: 'a' }, result)
    expect(await text('a')).toBe('one')
  })

  it('a successor with the same content is not removed by the repeated call', async () => {
    await writeFile(at('ready'), '')
    await tools.remove.execute({ path: 'ready' }, testContext('k'))
    await writeFile(at('ready'), '')
    expect(await rejection(tools.remove.execute({ path: 'ready' }, testContext('k')))).toBeInstanceOf(NotApplied)
    expect(existsSync(at('ready'))).toBe(true)
  })

  it('of nothing says so', async () => {
    expect(await tools.remove.execute({ path: 'a' }, testContext('k'))).toEqual({ before: null })
  })
})

describe('fs.move', () => {
  it('moves to a free name, once, and back', async () => {
    await writeFile(at('a'), 'one')
    const input = { from: 'a', to: 'deep/b' }
    const result = await tools.move.execute(input, testContext('k'))
    expect(await tools.move.execute(input, testContext('k'))).toEqual(result)
    expect([existsSync(at('a')), await text('deep/b')]).toEqual([false, 'one'])
    await undo(tools.move, input, result)
    expect([await text('a'), existsSync(at('deep/b'))]).toEqual(['one', false])
  })

  it('never overwrites: not a file that is there, not one that appears at the last moment', async () => {
    await writeFile(at('a'), 'one')
    await writeFile(at('b'), 'other')
    expect(await rejection(tools.move.execute({ from: 'a', to: 'b' }, testContext('1')))).toBeInstanceOf(NotApplied)
    const appear = () => void spawnSync('sh', ['-c', 'echo -n late > c'], { cwd: root })
    expect(await rejection(tools.move.execute({ from: 'a', to: 'c' }, atTheGuard(appear, '2')))).toBeInstanceOf(NotApplied)
    expect([await text('a'), await text('b'), await text('c')]).toEqual(['one', 'other', 'late'])
  })

  it('a first call that died with both names in place is finished by the second', async () => {
    await writeFile(at('a'), 'one')
    await rejection(tools.move.execute({ from: 'a', to: 'b' }, atTheGuard(() => {
      spawnSync('ln', ['a', 'b'], { cwd: root })
      throw new NotSent('died here')
    })))
    expect(await tools.move.execute({ from: 'a', to: 'b' }, testContext('k'))).toEqual({ hash: hash('one') })
    expect([existsSync(at('a')), await text('b')]).toEqual([false, 'one'])
  })

  it('a file replaced meanwhile is not moved for an older call', async () => {
    await writeFile(at('a'), 'one')
    await rejection(tools.move.execute({ from: 'a', to: 'b' }, atTheGuard(() => {
      throw new NotSent('died here')
    })))
    await writeFile(at('new'), 'two')
    await rename(at('new'), at('a'))
    expect(await rejection(tools.move.execute({ from: 'a', to: 'b' }, testContext('k')))).toBeInstanceOf(NotApplied)
    expect(await text('a')).toBe('two')
  })

  it('nor is a successor with the same content, when the moved one has gone on', async () => {
    await writeFile(at('a'), 'one')
    await tools.move.execute({ from: 'a', to: 'b' }, testContext('k'))
    await rm(at('b'))
    await writeFile(at('a'), 'one')
    expect(await rejection(tools.move.execute({ from: 'a', to: 'b' }, testContext('k')))).toBeInstanceOf(NotApplied)
    expect([await text('a'), existsSync(at('b'))]).toEqual(['one', false])
  })
})
