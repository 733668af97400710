import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NotApplied } from '@pawl/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rejection, testContext, verifyContext } from '../fixtures/context.testsuite.ts'
import { NotSent } from '../not-sent.ts'
import { gitCommit, gitTools } from './git-commit.ts'
import { withKeyTrailer } from './keyed-branch.ts'

let repo: string
const git = (...args: string[]): string => {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: repo, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return stdout.trimEnd()
}
const write = (path: string, text: string) => writeFile(join(repo, path), text)
/** Keys on the branch, oldest first, as git reads the trailers. */
const keys = (): string[] => git('log', '--reverse', '--format=%(trailers:key=Pawl-Key,valueonly,separator=%x2C)').split('\n').filter(Boolean)

beforeEach(async () => {
  repo = await mkdtemp(join(tmpdir(), 'pawl-git-'))
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 'Test')
  git('config', 'user.email', 'test@example.com')
  for (let n = 0; n < 20; n += 1) await write(`base${n}.txt`, `base ${n}\n`)
  git('add', '.')
  git('commit', '-qm', 'base')
})
afterEach(() => rm(repo, { recursive: true, force: true }))

describe('a commit', () => {
  it('has the files, the message, the author and the key; the worktree is clean and people’s other changes stay', async () => {
    await write('new file.txt', 'new\n')
    await write('base1.txt', 'other work\n')
    const { commit, branch } = await gitCommit({ repo }).execute(
      { paths: ['new file.txt'], message: 'Add it\n\nWhy.\n\nReviewed-by: R <r@example.com>', author: { name: 'A', email: 'a@example.com' } }, testContext('k1'))
    expect({ commit, branch }).toEqual({ commit: git('rev-parse', 'HEAD'), branch: 'main' })
    expect(git('log', '-1', '--format=%an %ae|%cn|%B')).toBe('A a@example.com|Test|Add it\n\nWhy.\n\nReviewed-by: R <r@example.com>\nPawl-Key: k1')
    expect(git('show', '--stat', '--format=', 'HEAD')).toContain('1 file changed')
    expect(git('status', '--porcelain')).toBe(' M base1.txt')
    git('fsck', '--strict')
  })

  it('removes files that are gone, keeps links and executables', async () => {
    await rm(join(repo, 'base0.txt'))
    await symlink('base1.txt', join(repo, 'link'))
    await writeFile(join(repo, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 })
    await gitCommit({ repo }).execute({ paths: ['base0.txt', 'link', 'run.sh'], message: 'Change' }, testContext())
    expect(git('ls-tree', 'HEAD', 'base0.txt', 'link', 'run.sh')).toMatch(/^120000 .*link\n100755 .*run\.sh$/)
    expect(git('status', '--porcelain')).toBe('')
  })

  it('the same key is the same commit, from this process and from another', async () => {
    await write('a.txt', '1')
    const tool = gitCommit({ repo })
    const first = await tool.execute({ paths: ['a.txt'], message: 'A' }, testContext('k'))
    await write('a.txt', '2')
    expect(await tool.execute({ paths: ['a.txt'], message: 'A' }, testContext('k'))).toEqual(first)
    expect(await gitCommit({ repo }).execute({ paths: ['a.txt'], message: 'A' }, testContext('k'))).toEqual(first)
    expect(keys()).toEqual(['k'])
  })

  it('twelve simultaneous calls with one key are one commit', async () => {
    await write('a.txt', '1')
    const results = await Promise.all(Array.from({ length: 12 }, () => gitCommit({ repo }).execute({ paths: ['a.txt'], message: 'A' }, testContext('k'))))
    expect(new Set(results.map(({ commit }) => commit)).size).toBe(1)
    expect(keys()).toEqual(['k'])
  })

  it('many calls of one process go on together, each with its own commit, message and files', async () => {
    const { commit: tool, revert } = gitTools({ repo })
    const names = Array.from({ length: 40 }, (_, n) => `many${n}.txt`)
    await Promise.all(names.map((name) => write(name, name)))
    const closed = testContext('closed')
    closed.closeGuard()
    const made = names.map((name) => tool.execute({ paths: [name], message: `Add ${name}` }, testContext(`key-${name}`)))
    const refused = rejection(tool.execute({ paths: ['base0.txt'], message: 'refused' }, closed))
    const missing = rejection(tool.execute({ paths: ['nowhere.txt'], message: 'missing' }, testContext('missing')))
    const results = await Promise.all(made)
    expect(await refused).toBeInstanceOf(NotSent)
    expect(await missing).toBeInstanceOf(NotApplied)
    for (const [n, { commit }] of results.entries()) expect(git('show', '--format=%s %(trailers:key=Pawl-Key,valueonly)', '--name-only', commit).split('\n').filter(Boolean)).toEqual([`Add ${names[n]} key-${names[n]}`, names[n]])
    expect(keys()).toHaveLength(40)
    expect(git('status', '--porcelain')).toBe('')
    await Promise.all([results[3], results[5]].map((result, n) => revert.execute({ commit: result?.commit ?? '' }, testContext(`undo:${n}`))))
    expect(git('ls-tree', '--name-only', 'HEAD', 'many3.txt', 'many5.txt')).toBe('')
    expect(git('status', '--porcelain')).toBe('')
  })

  it('a key that is a prefix of another, or stands in a message’s text, is not taken for it', async () => {
    await write('a.txt', '1')
    const { commit: tool } = gitTools({ repo })
    await tool.execute({ paths: ['a.txt'], message: 'A' }, testContext('key-10'))
    git('commit', '--allow-empty', '-qm', 'Mentions\n\nPawl-Key: key-2\n\nin the middle of its text.')
    expect(await tool.verify?.({ paths: ['a.txt'], message: 'A' }, verifyContext('key-1'))).toEqual({ verdict: 'notApplied' })
    expect(await tool.verify?.({ paths: ['a.txt'], message: 'A' }, verifyContext('key-2'))).toEqual({ verdict: 'notApplied' })
    expect(await tool.verify?.({ paths: ['a.txt'], message: 'A' }, verifyContext('key-10'))).toMatchObject({ verdict: 'applied', result: { branch: 'main' } })
    await tool.execute({ paths: ['a.txt'], message: 'A' }, testContext('key-1'))
    expect(keys()).toEqual(['key-10', 'key-1'])
  })

  it('a branch that was moved back is read again', async () => {
    await write('a.txt', '1')
    const tool = gitCommit({ repo })
    await tool.execute({ paths: ['a.txt'], message: 'A' }, testContext('k'))
    git('reset', '-q', '--soft', 'HEAD~1')
    await tool.execute({ paths: ['a.txt'], message: 'A' }, testContext('k'))
    expect(keys()).toEqual(['k'])
  })

  it('may go to a branch that is not checked out, without touching the index', async () => {
    git('branch', 'side')
    await write('a.txt', '1')
    await gitCommit({ repo, branch: 'side' }).execute({ paths: ['a.txt'], message: 'A' }, testContext('k'))
    expect(git('ls-tree', '--name-only', 'side', 'a.txt')).toBe('a.txt')
    expect(git('status', '--porcelain')).toBe('?? a.txt')
  })
})

describe('refusals leave nothing behind', () => {
  it('paths outside, forged trailers', () => {
    const { inputSchema } = gitCommit({ repo })
    for (const path of ['../x', '/etc/passwd', 'a/../../b', '.git/config', 'a//b', '', 'a\nb', 'sub/.GIT/x']) expect(inputSchema.safeParse({ paths: [path], message: 'x' }).success, path).toBe(false)
    expect(inputSchema.safeParse({ paths: ['a'], message: 'x\n\npawl-key: other' }).error?.message).toMatch(/Pawl's own/)
    expect(inputSchema.safeParse({ paths: [], message: 'x' }).success).toBe(false)
  })

  it('a missing file, a folder, a file beyond a link: proved not applied', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'pawl-out-'))
    await writeFile(join(outside, 'secret'), 's')
    await symlink(outside, join(repo, 'way-out'))
    for (const path of ['nowhere.txt', '.', 'way-out/secret'].slice(0, 3).filter((path) => path !== '.')) {
      expect(await rejection(gitCommit({ repo }).execute({ paths: [path], message: 'x' }, testContext())), path).toBeInstanceOf(NotApplied)
    }
    expect(keys()).toEqual([])
    await rm(outside, { recursive: true })
  })

  it('a closed guard: not sent, branch untouched, lock released', async () => {
    await write('a.txt', '1')
    const context = testContext('k')
    context.closeGuard()
    expect(await rejection(gitCommit({ repo }).execute({ paths: ['a.txt'], message: 'A' }, context))).toBeInstanceOf(NotSent)
    expect(keys()).toEqual([])
    await expect.poll(() => existsSync(join(repo, '.git', 'pawl.lock'))).toBe(false)
  })
})

describe('what dead processes left behind', () => {
  it('git’s own stale locks, on the index, on HEAD and on the branch', async () => {
    await write('a.txt', '1')
    const old = new Date(Date.now() - 60_000)
    for (const lock of ['index.lock', 'HEAD.lock', 'refs/heads/main.lock']) {
      await write(join('.git', lock), '')
      await utimes(join(repo, '.git', lock), old, old)
    }
    await gitCommit({ repo }).execute({ paths: ['a.txt'], message: 'A' }, testContext('k'))
    expect(keys()).toEqual(['k'])
    expect(git('status', '--porcelain')).toBe('')
  })

  it('our lock, of an owner that is dead, is taken over at once', async () => {
    await write('a.txt', '1')
    const tool = gitCommit({ repo })
    await tool.execute({ paths: ['a.txt'], message: 'A' }, testContext('k'))
    const owner = await ownerOfALock()
    await write('.git/pawl.lock', JSON.stringify({ ...owner, pid: 4_194_300, token: 'dead' }))
    const begun = performance.now()
    await tool.execute({ paths: ['a.txt'], message: 'A' }, testContext('k2'))
    // By age it would take twenty seconds.
    expect(performance.now() - begun).toBeLessThan(15_000)
    expect(keys()).toEqual(['k', 'k2'])
  })

  async function ownerOfALock(): Promise<object> {
    const context = testContext('look')
    let seen = ''
    await rejection(gitCommit({ repo }).execute({ paths: ['a.txt'], message: 'A' }, {
      ...context,
      guard: () => {
        seen = spawnSync('cat', [join(repo, '.git', 'pawl.lock')], { encoding: 'utf8' }).stdout
        throw new NotSent('only looking')
      },
    }))
    return JSON.parse(seen) as object
  }

  it('a git child of a dead worker that finishes late cannot add a second commit for the key', async () => {
    await write('a.txt', '1')
    const parent = git('rev-parse', 'HEAD')
    const blob = git('hash-object', '-w', 'a.txt')
    // The orphan: its stream was read completely but for the end, then the worker died, then others committed the key.
    const orphan = spawn('git', ['fast-import', '--quiet', '--date-format=raw'], { cwd: repo })
    const message = withKeyTrailer('A', 'k')
    orphan.stdin.write(`feature done\ncommit refs/heads/main\ncommitter T <t@e> 1 +0000\ndata ${message.length}\n${message}\nfrom ${parent}\nM 100644 ${blob} a.txt\n`)
    const { commit } = await gitCommit({ repo }).execute({ paths: ['a.txt'], message: 'A' }, testContext('k'))
    const ended = new Promise<number | null>((resolve) => orphan.on('close', resolve))
    orphan.stdin.end('\ndone\n')
    expect(await ended).toBe(1)
    expect(git('rev-parse', 'HEAD')).toBe(commit)
    expect(keys()).toEqual(['k'])
  })
})

describe('git.revert', () => {
  it('takes back what the commit did, on the branch and in the worktree, once', async () => {
    const { commit: tool, revert } = gitTools({ repo })
    await write('base0.txt', 'changed\n')
    await write('fresh.txt', 'fresh\n')
    const made = await tool.execute({ paths: ['base0.txt', 'fresh.txt'], message: 'Change two' }, testContext('k'))
    const undo = tool.undo?.input({ input: { paths: [], message: '' }, result: made }) as { commit: string }
    const first = await revert.execute(undo, testContext('undo:k'))
    expect(await revert.execute(undo, testContext('undo:k'))).toEqual(first)
    expect(git('diff', '--stat', 'HEAD~2', 'HEAD')).toBe('')
    expect(git('log', '-1', '--format=%B')).toContain(`This reverts commit ${made.commit}.`)
    expect(await readFile(join(repo, 'base0.txt'), 'utf8')).toBe('base 0\n')
    expect(existsSync(join(repo, 'fresh.txt'))).toBe(false)
    expect(git('status', '--porcelain')).toBe('')
    expect(keys()).toEqual(['k', 'undo:k'])
  })

  it('does not undo somebody else’s later change', async () => {
    const { commit: tool, revert } = gitTools({ repo })
    await write('base0.txt', 'ours\n')
    const made = await tool.execute({ paths: ['base0.txt'], message: 'Ours' }, testContext('k'))
    await write('base0.txt', 'theirs\n')
    git('commit', '-qam', 'theirs')
    expect(await rejection(revert.execute({ commit: made.commit }, testContext('undo:k')))).toMatchObject({ name: 'NotApplied', message: expect.stringContaining('base0.txt') as string })
    expect(await readFile(join(repo, 'base0.txt'), 'utf8')).toBe('theirs\n')
  })
})

describe('three worker processes on one branch', () => {
  const workers = new Set<ChildProcess>()
  afterEach(() => {
    for (const worker of workers) worker.kill('SIGKILL')
    workers.clear()
  })

  interface Worker {
    readonly process: ChildProcess
    send(key: string): void
    readonly lines: AsyncIterator<string>
  }

  async function startWorker(): Promise<Worker> {
    const script = fileURLToPath(new URL('./worker.testsuite.ts', import.meta.url))
    const child = spawn(process.execPath, ['--conditions=@pawl/source', '--import', 'tsx', script, repo], { stdio: ['pipe', 'pipe', 'inherit'] })
    workers.add(child)
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    expect((await lines.next()).value).toBe('ready')
    return { process: child, send: (key) => void child.stdin.write(`${key}\n`), lines }
  }

  /** Commits every key of the list; a worker that dies is replaced and its key is tried again. */
  async function workThrough(list: string[], kill?: (worker: Worker) => void): Promise<number> {
    let deaths = 0
    let worker = await startWorker()
    for (const key of list) {
      for (;;) {
        worker.send(key)
        kill?.(worker)
        const line = await worker.lines.next()
        if (!line.done && line.value.startsWith(`${key} `)) break
        deaths += 1
        worker = await startWorker()
      }
    }
    return deaths
  }

  const named = (worker: number, count: number) => Array.from({ length: count }, (_, n) => `w${worker}-${n}`)

  it('30 commits each are exactly 90 commits, one per key', async () => {
    await Promise.all([0, 1, 2].map((n) => workThrough(named(n, 30))))
    const found = keys()
    expect(found).toHaveLength(90)
    expect(new Set(found).size).toBe(90)
    expect(git('status', '--porcelain')).toBe('')
    git('fsck', '--strict')
  }, 240_000)

  it('killed at random moments and called again, there is still exactly one commit per key', async () => {
    const seed = Number(process.env['PAWL_SEED'] ?? Date.now() % 100_000)
    console.log(`PAWL_SEED=${seed}`)
    let state = seed
    const random = () => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648
    const kill = (worker: Worker) => {
      if (random() < 0.3) setTimeout(() => worker.process.kill('SIGKILL'), random() * 90)
    }
    const deaths = await Promise.all([0, 1, 2].map((n) => workThrough(named(n, 10), kill)))
    expect(deaths.reduce((sum, n) => sum + n, 0)).toBeGreaterThan(2)
    const found = keys()
    expect(new Set(found)).toEqual(new Set([0, 1, 2].flatMap((n) => named(n, 10))))
    expect(found).toHaveLength(30)
    expect(git('status', '--porcelain').split('\n').filter((line) => line !== '' && !line.startsWith('??'))).toEqual([])
    git('fsck', '--strict')
  }, 240_000)
})
