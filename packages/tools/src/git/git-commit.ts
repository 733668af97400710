/**
 * `git.commit` and its inverse `git.revert`.
 *
 * Effect class: `idempotent` and `concurrent`. Each commit carries its key as a trailer, and the branch takes at most one
 * commit per key, the call still running included: a commit is swapped onto the branch only from a tip whose history does
 * not contain the key (`keyed-branch.ts` argues it for killed workers whose git child lives on, and for frozen ones). So a
 * repeated call finds the key and returns the first commit; nothing has to be waited for. Git never forgets: no key window.
 * `verify` only reads, for runs that are being cancelled or compensated.
 *
 * What it does not do: run hooks, sign, or merge. A commit whose files already have that content is made all the same
 * (empty), so that every key has its commit.
 */
import { z } from 'zod'
import { defineTool, type Tool } from '../define-tool.ts'
import { applied, notApplied } from '../verdict.ts'
import { gitRevert, type RevertInput, type RevertResult } from './git-revert.ts'
import { keyTrailer, type Person } from './keyed-branch.ts'
import { commitHash, KeyedRepository, repositoryPath, trailerKey, type GitOptions } from './keyed-repository.ts'

export interface CommitInput {
  /** Files, relative to the repository's root. One that is gone from the worktree is removed from the branch. */
  readonly paths: readonly string[]
  readonly message: string
  readonly author?: Person | undefined
}

export interface CommitResult {
  readonly commit: string
  readonly branch: string
}

/** A message that forges the trailer would make another call believe it is done. */
export const commitMessage = z.string().trim().min(1).max(50_000).refine((text) => !new RegExp(`^${keyTrailer}\\s*:`, 'im').test(text), {
  message: `a line "${keyTrailer}:" is Pawl's own and cannot be part of a message.`,
})
// oxlint-disable-next-line no-control-regex -- control characters are what is refused
const personText = z.string().min(1).max(200).regex(/^[^<>\u0000-\u001f]+$/)
const person = z.strictObject({ name: personText, email: personText })

export const commitResult: z.ZodType<CommitResult> = z.object({ commit: commitHash, branch: z.string() })

/** Both tools for one repository. They share the lock and the memory of keys. */
export function gitTools(options: GitOptions): { commit: Tool<CommitInput, CommitResult>; revert: Tool<RevertInput, RevertResult> } {
  let opened: Promise<KeyedRepository> | undefined
  const open = () => {
    opened ??= KeyedRepository.open(options).catch((error: unknown) => {
      opened = undefined
      throw error
    })
    return opened
  }
  const revert = gitRevert(open)
  return { revert, commit: commitTool(open, revert) }
}

export const gitCommit = (options: GitOptions): Tool<CommitInput, CommitResult> => gitTools(options).commit

function commitTool(open: () => Promise<KeyedRepository>, revert: Tool<RevertInput, RevertResult>): Tool<CommitInput, CommitResult> {
  return defineTool<CommitInput, CommitResult>({
    name: 'git.commit',
    version: '1',
    description: 'Commits the named files of the worktree to the branch and returns the commit.',
    effect: 'idempotent',
    concurrent: true,
    inputSchema: z.strictObject({ paths: z.array(repositoryPath).min(1).max(5_000), message: commitMessage, author: person.optional() }),
    outputSchema: commitResult,
    settleWindow: 0,
    async execute(input, context) {
      const repository = await open()
      const paths = [...new Set(input.paths)]
      const { commit, branch, isNew } = await repository.commitOnce(trailerKey(context.key), { signal: context.signal, guard: () => context.guard() }, async () => {
        const changes = await repository.readWorktree(paths)
        return async (tip) => {
          await repository.assertRemovable(changes, tip)
          return { message: input.message, author: input.author ?? repository.committer, changes }
        }
      })
      // The first holder may have died between its commit and its index.
      if (!isNew) await repository.syncIndex(await tipEntries(repository, paths))
      return { commit, branch }
    },
    async verify(_input, { key }) {
      const repository = await open()
      const commit = await repository.find(trailerKey(key))
      return commit ? applied({ commit, branch: repository.branch.branch }) : notApplied()
    },
    undo: { tool: revert, input: ({ result }) => ({ commit: result.commit }) },
  })
}

async function tipEntries(repository: KeyedRepository, paths: readonly string[]) {
  const entries = await repository.readTree(await repository.branch.tip(), paths)
  return paths.map((path) => ({ path, entry: entries.get(path) }))
}
