export { gitCommit, gitTools, type CommitInput, type CommitResult } from './git-commit.ts'
export type { RevertInput, RevertResult } from './git-revert.ts'
export type { Person } from './keyed-branch.ts'
export type { GitOptions } from './keyed-repository.ts'
