/**
 * `git.revert`: takes one commit back with a new one. Same effect class as `git.commit` and for the same reason: the
 * revert carries its own key, the branch takes one commit per key.
 *
 * Each file the commit touched goes back to what it was before, if it still is what the commit made it. A file that has
 * been changed since is not guessed at: the call is refused (not applied) and a person decides.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { NotApplied } from '@pawl/core'
import { z } from 'zod'
import { defineTool, type Tool } from '../define-tool.ts'
import { applied, notApplied } from '../verdict.ts'
import type { TreeChange, TreeEntry } from './keyed-branch.ts'
import { commitHash, trailerKey, type KeyedRepository } from './keyed-repository.ts'
import { runGit } from './run-git.ts'

export interface RevertInput {
  readonly commit: string
}

export interface RevertResult {
  readonly commit: string
  readonly branch: string
}

interface FileChange {
  readonly path: string
  readonly before: TreeEntry | undefined
  readonly after: TreeEntry | undefined
}

export function gitRevert(open: () => Promise<KeyedRepository>): Tool<RevertInput, RevertResult> {
  return defineTool<RevertInput, RevertResult>({
    name: 'git.revert',
    version: '1',
    description: 'Reverts one commit with a new commit.',
    effect: 'idempotent',
    concurrent: true,
    inputSchema: z.strictObject({ commit: commitHash }),
    outputSchema: z.object({ commit: commitHash, branch: z.string() }),
    settleWindow: 0,
    async execute(input, context) {
      const repository = await open()
      const files = await changedFiles(repository, input.commit)
      // Alone: what it puts back depends on what the branch holds just before it.
      const { commit, branch, isNew } = await repository.commitOnce(trailerKey(context.key), { signal: context.signal, guard: () => context.guard(), isAlone: true }, async () => {
        const message = await revertMessage(repository, input.commit)
        return async (tip) => ({ message, author: repository.committer, changes: await inverse(repository, tip, files) })
      })
      if (!isNew) await repository.syncIndex(files.map(({ path, before }) => ({ path, entry: before })))
      await restoreWorktree(repository, files)
      return { commit, branch }
    },
    async verify(_input, { key }) {
      const repository = await open()
      const commit = await repository.find(trailerKey(key))
      return commit ? applied({ commit, branch: repository.branch.branch }) : notApplied()
    },
  })
}

async function changedFiles(repository: KeyedRepository, commit: string): Promise<FileChange[]> {
  const raw = await runGit({ repo: repository.root, args: ['diff-tree', '--root', '-r', '-z', '--no-renames', '--no-commit-id', '--full-index', '--raw', commit] }).catch((cause: unknown) => {
    throw new NotApplied(`commit ${commit} is not in this repository.`, { cause })
  })
  const fields = raw.split('\0').filter(Boolean)
  const files: FileChange[] = []
  for (let n = 0; n + 1 < fields.length; n += 2) {
    const [oldMode = '', newMode = '', oldBlob = '', newBlob = ''] = (fields[n] ?? '').slice(1).split(' ')
    files.push({ path: fields[n + 1] ?? '', before: entryOf(oldMode, oldBlob), after: entryOf(newMode, newBlob) })
  }
  return files
}

const entryOf = (mode: string, blob: string): TreeEntry | undefined => (/^0+$/.test(mode) ? undefined : { mode, blob })
const isSame = (a: TreeEntry | undefined, b: TreeEntry | undefined): boolean => a?.mode === b?.mode && a?.blob === b?.blob

async function inverse(repository: KeyedRepository, tip: string, files: readonly FileChange[]): Promise<TreeChange[]> {
  const current = files.length === 0 ? new Map<string, TreeEntry>() : await repository.readTree(tip, files.map(({ path }) => path))
  const touched = files.filter(({ path, before }) => !isSame(current.get(path), before))
  const changedSince = touched.filter(({ path, after }) => !isSame(current.get(path), after)).map(({ path }) => path)
  if (changedSince.length > 0) throw new NotApplied(`changed since that commit, so not reverted: ${changedSince.slice(0, 10).join(', ')}. Revert by hand, or abandon this undo.`)
  return touched.map(({ path, before }) => ({ path, entry: before }))
}

async function revertMessage(repository: KeyedRepository, commit: string): Promise<string> {
  const subject = (await runGit({ repo: repository.root, args: ['log', '-1', '--no-show-signature', '--format=%s', commit, '--'] })).trim()
  return `Revert "${subject}"\n\nThis reverts commit ${commit}.`
}

/** Brings the worktree's files along, those that are still as the reverted commit left them. */
async function restoreWorktree(repository: KeyedRepository, files: readonly FileChange[]): Promise<void> {
  if (!(await repository.isCheckedOut())) return
  const tip = await repository.branch.tip()
  const current = files.length === 0 ? new Map<string, TreeEntry>() : await repository.readTree(tip, files.map(({ path }) => path))
  for (const { path, before, after } of files) {
    if (!isSame(current.get(path), before)) continue
    const here = await repository.readWorktree([path]).then(([change]) => change?.entry, () => undefined)
    if (!isSame(here, after)) continue
    if (before) await runGit({ repo: repository.root, args: ['checkout-index', '-f', '-q', '-u', '-z', '--stdin'], input: `${path}\0` })
    else await rm(join(repository.root, path), { force: true })
  }
}
