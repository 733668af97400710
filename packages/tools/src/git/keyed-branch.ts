/**
 * A branch on which every commit made by Pawl names its key in a trailer, at most one commit per key.
 *
 * Why that holds without trusting any lock: a commit for key K is made on a parent P whose whole history was looked
 * through and does not contain K, and the branch is moved by git's own compare-and-swap (`fast-import` moves it only if
 * the old tip is contained in the new commit, and swaps the ref only against the tip it read). Once one commit for K is on
 * the branch, any other commit for K, from whichever process, was built on a parent without it and can no longer be
 * swapped in. So a git child that outlives its killed worker, a worker that was frozen and wakes up, and two workers with
 * the same call are all harmless: one of them wins, the others find the key. A half-written stream does nothing
 * (`feature done`).
 */
import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { CommitReader } from './commit-reader.ts'
import { durable, GitFailed, runGit } from './run-git.ts'

export const keyTrailer = 'Pawl-Key'

export interface TreeChange {
  readonly path: string
  /** Undefined: the file is removed. */
  readonly entry: TreeEntry | undefined
}

export interface TreeEntry {
  readonly mode: string
  readonly blob: string
}

export interface Person {
  readonly name: string
  readonly email: string
}

export interface NewCommit {
  readonly key: string
  readonly message: string
  readonly author: Person
  readonly committer: Person
  readonly changes: readonly TreeChange[]
}

/** Absolute paths. They differ in a linked worktree: refs are common, the index is its own. */
export interface GitDirs {
  readonly common: string
  readonly worktree: string
}

/** How long a lock file of git's own may lie about before it belongs to nobody: git holds them for milliseconds. */
const gitLockOldMs = 5_000

export class KeyedBranch {
  readonly ref: string
  /** Keys of the history up to `scannedTip`. Only new commits are read. */
  readonly #commits = new Map<string, string>()
  #scannedTip: string | undefined
  readonly #reader: CommitReader

  constructor(readonly repo: string, readonly dirs: GitDirs, readonly branch: string) {
    this.#reader = new CommitReader(repo)
    this.ref = `refs/heads/${branch}`
  }

  /** The branch's tip, from the loose ref file where there is one: saves a process per commit. */
  async tip(): Promise<string> {
    const loose = await readFile(join(this.dirs.common, this.ref), 'utf8').catch(() => '')
    if (/^[0-9a-f]{40,64}\n$/.test(loose)) return loose.trim()
    return (await runGit({ repo: this.repo, args: ['rev-parse', '--verify', '--quiet', `${this.ref}^{commit}`] })).trim()
  }

  /** The commit that carries exactly this key in the history of `tip`, the oldest if it was cherry-picked about. */
  async find(key: string, tip: string): Promise<string | undefined> {
    await this.#scan(tip)
    return this.#commits.get(key)
  }

  async #scan(tip: string): Promise<void> {
    if (tip === this.#scannedTip || (await this.#walkNew(tip))) return
    const range = this.#scannedTip === undefined ? tip : `${this.#scannedTip}...${tip}`
    const format = `--format=%m%x09%H%x09%(trailers:key=${keyTrailer},valueonly,separator=%x09)`
    const log = await runGit({ repo: this.repo, args: ['log', '--reverse', '--topo-order', '--left-right', '--no-show-signature', format, range, '--'] })
    const lines = log.split('\n').filter(Boolean).map((line) => line.split('\t'))
    if (lines.some(([side]) => side === '<')) {
      // The branch no longer contains what was scanned: somebody moved it back. Begin again.
      this.#commits.clear()
      this.#scannedTip = undefined
      return this.#scan(tip)
    }
    for (const [, commit, ...keys] of lines) {
      for (const key of keys) if (commit && key && !this.#commits.has(key)) this.#commits.set(key, commit)
    }
    this.#scannedTip = tip
  }

  /** The common case: a few commits in a row on top of what is known. False: anything else, `git log` shall look. */
  async #walkNew(tip: string): Promise<boolean> {
    const known = this.#scannedTip
    const found: [commit: string, keys: string[]][] = []
    for (let at: string | undefined = tip; known !== undefined && found.length < walkLimit; ) {
      const commit = await this.#reader.read(at)
      if (!commit || commit.parents.length > 1) return false
      found.push([at, keysOf(commit.message)])
      at = commit.parents[0]
      if (at === undefined) return false
      // Another call of this process may have scanned meanwhile: then this walk is not on top of it.
      if (at !== known) continue
      if (this.#scannedTip !== known) return false
      for (const [hash, keys] of found.toReversed()) for (const key of keys) if (!this.#commits.has(key)) this.#commits.set(key, hash)
      this.#scannedTip = tip
      return true
    }
    return false
  }

  /** Swaps the commits in on top of `parent`, all or none. Undefined: the branch has moved on; look for the keys again. */
  async swapIn(parent: string, commits: readonly NewCommit[]): Promise<string[] | undefined> {
    // A process that was killed in the swap leaves any of them: git locks HEAD, too, to note there that its branch has moved.
    for (const lock of new Set([join(this.dirs.common, `${this.ref}.lock`), join(this.dirs.worktree, 'HEAD.lock'), join(this.dirs.common, 'HEAD.lock')])) await this.#removeOldLock(lock)
    try {
      // Not ended by a tool's signal: an abort would leave git's lock files behind. It takes milliseconds.
      const made = await runGit({ repo: this.repo, args: [...durable, 'fast-import', '--quiet', '--date-format=raw'], input: importStream(this.ref, parent, commits) })
      return made.trim().split('\n')
    } catch (error) {
      if (error instanceof GitFailed && (await this.tip()) !== parent) return undefined
      if (error instanceof GitFailed && /\.lock': File exists|cannot lock ref|Unable to create/.test(error.stderr)) return undefined
      throw error
    }
  }

  async #removeOldLock(path: string): Promise<void> {
    const age = await stat(path).then((file) => Date.now() - file.mtimeMs, () => undefined)
    // Somebody frozen while holding it can only rename what lies there then: a newer writer's finished file.
    if (age !== undefined && age > gitLockOldMs) await rm(path, { force: true })
  }

  /** What the worktree's index should say about these paths: `git status` and people's own commits read it. */
  async syncIndex(changes: readonly TreeChange[]): Promise<void> {
    const none = `0 ${'0'.repeat(this.#scannedTip?.length ?? 40)}`
    const input = changes.map(({ path, entry }) => `${entry ? `${entry.mode} ${entry.blob}` : none}\t${path}\0`).join('')
    const update = () => runGit({ repo: this.repo, args: ['update-index', '-z', '--index-info'], input })
    const lock = join(this.dirs.worktree, 'index.lock')
    for (let tries = 0; ; tries += 1) {
      await this.#removeOldLock(lock)
      try {
        await update()
        return
      } catch (error) {
        if (!(error instanceof GitFailed) || !error.stderr.includes('index.lock') || tries >= 100) throw error
        await new Promise((resolve) => setTimeout(resolve, 60))
      }
    }
  }
}

const walkLimit = 200

/** Trailers stand in the last paragraph; a mention anywhere else is only text. */
function keysOf(message: string): string[] {
  const text = message.trimEnd()
  const lines = text.slice(text.lastIndexOf('\n\n') + 1).split('\n')
  return lines.flatMap((line) => /^pawl-key: *(\S+) *$/i.exec(line)?.[1] ?? [])
}

/** Messages end in our own trailer; a message that already ends in trailers gets it appended to that block. */
export function withKeyTrailer(message: string, key: string): string {
  const text = message.trimEnd()
  const lastParagraph = text.slice(text.lastIndexOf('\n\n') + 2)
  const endsInTrailers = text.includes('\n\n') && lastParagraph.split('\n').every((line) => /^[A-Za-z0-9-]+: \S/.test(line))
  return `${text}${endsInTrailers ? '\n' : '\n\n'}${keyTrailer}: ${key}\n`
}

function importStream(ref: string, parent: string, commits: readonly NewCommit[]): Buffer {
  const at = `${Math.floor(Date.now() / 1_000)} +0000`
  const person = ({ name, email }: Person) => `${name.replace(/[<>\n]/g, '')} <${email.replace(/[<>\n]/g, '')}> ${at}`
  const parts = commits.map(({ author, committer, message, key, changes }, n) => {
    const text = withKeyTrailer(message, key)
    return [
      `commit ${ref}`,
      `mark :${n + 1}`,
      `author ${person(author)}`,
      `committer ${person(committer)}`,
      `data ${Buffer.byteLength(text)}`,
      text,
      `from ${n === 0 ? parent : `:${n}`}`,
      ...changes.map(({ path, entry }) => (entry ? `M ${entry.mode} ${entry.blob} ${quoted(path)}` : `D ${quoted(path)}`)),
      '',
    ].join('\n')
  })
  const marks = commits.map((_commit, n) => `get-mark :${n + 1}`)
  return Buffer.from(['feature done', ...parts, ...marks, 'done', ''].join('\n'))
}

const quoted = (path: string): string => `"${path.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n')}"`
