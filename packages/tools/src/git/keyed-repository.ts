/** One repository with a worktree, as the git tools see it: its branch, its lock, and what its files would be in a tree. */
import { lstat, readFile, readlink, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { NotApplied, sha256 } from '@pawl/core'
import { z } from 'zod'
import { BlobWriter } from './blob-writer.ts'
import { asNotApplied, CommitQueue, type CommitPlan } from './commit-queue.ts'
import { KeyedBranch, type Person, type TreeChange, type TreeEntry } from './keyed-branch.ts'
import { durable, runGit } from './run-git.ts'

export interface GitOptions {
  /** A folder inside the repository's worktree. */
  readonly repo: string
  /** Default: the branch that is checked out when the tool is first used. */
  readonly branch?: string
  /** Default: git's own configuration. */
  readonly committer?: Person
}

export interface KeyedCommit {
  readonly commit: string
  readonly branch: string
  /** False: the key was there already, and the worktree may need to be brought along. */
  readonly isNew: boolean
}

export interface OnceOptions {
  readonly signal: AbortSignal
  readonly guard: () => void
  readonly isAlone?: boolean
}

export const repositoryPath = z.string().superRefine((path, issue) => {
  const segments = path.split('/')
  const isPlain = path.length > 0 && !path.startsWith('/') && segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..')
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  if (!isPlain || segments.some((segment) => segment.toLowerCase() === '.git') || /[\u0000-\u001f\\]/.test(path)) {
    issue.addIssue({ code: 'custom', message: `"${path}" is not a path inside the repository. Write it relative to the repository's root, with "/", without "..".` })
  }
})

export const commitHash = z.string().regex(/^[0-9a-f]{40,64}$/)

/** Keys become trailer values: printable and on one line. */
export const trailerKey = (key: string): string => (/^[\x21-\x7e]{1,255}$/.test(key) ? key : sha256(key))

export class KeyedRepository {
  readonly #queue: CommitQueue
  readonly #blobs: BlobWriter

  private constructor(readonly root: string, readonly branch: KeyedBranch, readonly committer: Person, readonly isCheckedOut: () => Promise<boolean>) {
    this.#blobs = new BlobWriter(root)
    this.#queue = new CommitQueue(branch, committer, join(branch.dirs.common, 'pawl.lock'), (changes) => this.syncIndex(changes))
  }

  static async open(options: GitOptions): Promise<KeyedRepository> {
    const at = { repo: options.repo }
    const where = await runGit({ ...at, args: ['rev-parse', '--path-format=absolute', '--show-toplevel', '--git-dir', '--git-common-dir'] })
    const [root = '', worktree = '', common = ''] = where.trimEnd().split('\n')
    const head = async () => (await runGit({ ...at, args: ['symbolic-ref', '--quiet', '--short', 'HEAD'] })).trim()
    const branch = options.branch ?? (await head())
    const committer = options.committer ?? parseIdent(await runGit({ ...at, args: ['var', 'GIT_COMMITTER_IDENT'] }))
    const isCheckedOut = async () => (await readFile(join(worktree, 'HEAD'), 'utf8')).trim() === `ref: refs/heads/${branch}`
    return new KeyedRepository(root, new KeyedBranch(root, { common, worktree }, branch), committer, isCheckedOut)
  }

  /**
   * The one commit for `key`: found, or planned and swapped in. `prepare` runs outside the lock; the plan it returns gets
   * the tip the commit will stand on. Whatever fails before git was told to move the branch, and whatever git itself
   * refused, is proved not applied.
   */
  async commitOnce(key: string, options: OnceOptions, prepare: () => Promise<(tip: string) => Promise<CommitPlan>>): Promise<KeyedCommit> {
    const { branch } = this.branch
    let plan: (tip: string) => Promise<CommitPlan>
    try {
      // Looked for before anything is read: the files of a call that is long done may have moved on.
      const found = await this.find(key)
      if (found) return { commit: found, branch, isNew: false }
      plan = await prepare()
    } catch (error) {
      throw asNotApplied(error)
    }
    return { branch, ...(await this.#queue.commit({ key, plan, guard: options.guard, isAlone: options.isAlone ?? false }, options.signal)) }
  }

  async find(key: string): Promise<string | undefined> {
    return this.branch.find(key, await this.branch.tip())
  }

  /** The index belongs to the branch that is checked out; commits to another one leave it alone. */
  async syncIndex(changes: readonly TreeChange[]): Promise<void> {
    if (changes.length > 0 && (await this.isCheckedOut())) await this.branch.syncIndex(changes)
  }

  /** What these files of the worktree would be in a tree, git's own filters applied. Missing files are removals. */
  async readWorktree(paths: readonly string[]): Promise<TreeChange[]> {
    const files = await Promise.all(paths.map(async (path) => ({ path, mode: await this.#modeOf(path) })))
    return Promise.all(files.map(async ({ path, mode }) => {
      if (mode === undefined) return { path, entry: undefined }
      const blob = mode === '120000' ? await this.#writeLink(path) : await this.#blobs.write(path)
      return { path, entry: { mode, blob } }
    }))
  }

  async #writeLink(path: string): Promise<string> {
    return (await runGit({ repo: this.root, args: [...durable, 'hash-object', '-w', '--stdin'], input: await readlink(join(this.root, path)) })).trim()
  }

  /** A file to be removed must be there: a mistyped name would make an empty commit. */
  async assertRemovable(changes: readonly TreeChange[], tip: string): Promise<void> {
    const missing = changes.filter(({ entry }) => entry === undefined).map(({ path }) => path)
    if (missing.length === 0) return
    const inTip = await this.readTree(tip, missing)
    const unknownPath = missing.find((path) => !inTip.has(path))
    if (unknownPath) throw new NotApplied(`there is no file "${unknownPath}", neither in the worktree nor on the branch.`)
  }

  async #modeOf(path: string): Promise<string | undefined> {
    const full = join(this.root, path)
    const file = await lstat(full).catch(() => undefined)
    if (!file) return undefined
    const parent = dirname(full)
    if ((await realpath(parent)) !== join(await realpath(this.root), dirname(path))) throw new NotApplied(`"${path}" lies beyond a symbolic link.`)
    if (file.isSymbolicLink()) return '120000'
    if (!file.isFile()) throw new NotApplied(`"${path}" is not a file. Name each file of a folder.`)
    return file.mode & 0o100 ? '100755' : '100644'
  }

  async readTree(commit: string, paths: readonly string[]): Promise<Map<string, TreeEntry>> {
    const listing = await runGit({ repo: this.root, args: ['--literal-pathspecs', 'ls-tree', '-z', '--full-tree', commit, '--', ...paths] })
    return new Map(listing.split('\0').filter(Boolean).map((line) => {
      const [facts = '', path = ''] = line.split('\t')
      const [mode = '', , blob = ''] = facts.split(' ')
      return [path, { mode, blob }]
    }))
  }
}

function parseIdent(ident: string): Person {
  const match = /^(.*) <([^>]*)> \d+ [+-]\d+\s*$/.exec(ident)
  return { name: match?.[1] ?? 'Pawl', email: match?.[2] ?? 'pawl@localhost' }
}
