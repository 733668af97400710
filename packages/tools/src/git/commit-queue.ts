/**
 * Commits of one process wait here for the repository's lock together and go onto the branch in one step: a git process
 * costs more than a commit does. Each still has its own key, its own guard and its own outcome.
 */
import { NotApplied } from '@pawl/core'
import { NotSent } from '../not-sent.ts'
import type { KeyedBranch, Person, TreeChange } from './keyed-branch.ts'
import { withRepositoryLock } from './repository-lock.ts'
import { GitFailed } from './run-git.ts'

export interface CommitPlan {
  readonly message: string
  readonly author: Person
  readonly changes: readonly TreeChange[]
}

export interface CommitRequest {
  readonly key: string
  readonly guard: () => void
  /** What to commit on top of this tip. Throws what should be told to the caller. */
  readonly plan: (tip: string) => Promise<CommitPlan>
  /** The plan depends on what the branch holds: it is made on a tip of its own. */
  readonly isAlone: boolean
}

export interface CommitOutcome {
  readonly commit: string
  /** False: the key was there already. */
  readonly isNew: boolean
}

interface Waiting extends CommitRequest {
  readonly resolve: (outcome: CommitOutcome) => void
  readonly reject: (error: unknown) => void
}

const batchSize = 64
/** Enough for every other writer of a busy branch to win a race first. */
const swapTries = 50
const lockWaitMs = 60_000

export class CommitQueue {
  #waiting: Waiting[] = []
  #isDraining = false

  constructor(readonly branch: KeyedBranch, readonly committer: Person, readonly lockPath: string, readonly syncIndex: (changes: readonly TreeChange[]) => Promise<void>) {}

  /** Resolves when the key's commit is on the branch. An abort counts only as long as git has not been told of it. */
  commit(request: CommitRequest, signal: AbortSignal): Promise<CommitOutcome> {
    return new Promise((resolve, reject) => {
      const waiting = { ...request, resolve, reject }
      const giveUp = () => {
        if (!this.#waiting.includes(waiting)) return
        this.#waiting = this.#waiting.filter((other) => other !== waiting)
        reject(new NotApplied('no commit was made: the repository was busy until the timeout.'))
      }
      this.#waiting.push(waiting)
      if (signal.aborted) return giveUp()
      signal.addEventListener('abort', giveUp, { once: true })
      if (!this.#isDraining) void this.#drain()
    })
  }

  async #drain(): Promise<void> {
    this.#isDraining = true
    while (this.#waiting.length > 0) {
      try {
        await withRepositoryLock(this.lockPath, AbortSignal.timeout(lockWaitMs), () => this.#commitBatch(this.#take()))
      } catch (cause) {
        for (const { reject } of this.#waiting.splice(0)) reject(new NotApplied('no commit was made: the repository’s lock could not be had.', { cause }))
      }
    }
    this.#isDraining = false
  }

  /** The next ones, each key once: its twin finds the commit in the next round. */
  #take(): Waiting[] {
    const [first] = this.#waiting
    const batch: Waiting[] = []
    const keys = new Set<string>()
    for (const waiting of this.#waiting) {
      if (batch.length >= batchSize || (waiting.isAlone && waiting !== first)) break
      if (keys.has(waiting.key)) continue
      keys.add(waiting.key)
      batch.push(waiting)
      if (waiting.isAlone) break
    }
    this.#waiting = this.#waiting.filter((waiting) => !batch.includes(waiting))
    return batch
  }

  async #commitBatch(batch: Waiting[]): Promise<void> {
    let left = batch
    try {
      for (let tries = 0; tries < swapTries && left.length > 0; tries += 1) left = await this.#trySwap(left)
      for (const { reject } of left) reject(new NotApplied(`no commit was made: branch ${this.branch.branch} moved under each of ${swapTries} tries.`))
    } catch (error) {
      for (const waiting of left) await this.#judge(waiting, error)
    }
  }

  /** Returns those whose commit lost the race. */
  async #trySwap(batch: readonly Waiting[]): Promise<Waiting[]> {
    const tip = await this.branch.tip()
    const planned: { waiting: Waiting; plan: CommitPlan }[] = []
    for (const waiting of batch) {
      const found = await this.branch.find(waiting.key, tip)
      if (found) waiting.resolve({ commit: found, isNew: false })
      else await waiting.plan(tip).then((plan) => planned.push({ waiting, plan }), (error: unknown) => waiting.reject(asNotApplied(error)))
    }
    const sendable = planned.filter(({ waiting }) => {
      try {
        waiting.guard()
        return true
      } catch (refusal) {
        waiting.reject(refusal)
        return false
      }
    })
    if (sendable.length === 0) return []
    const commits = sendable.map(({ waiting, plan }) => ({ ...plan, key: waiting.key, committer: this.committer }))
    const made = await this.branch.swapIn(tip, commits)
    if (!made) return sendable.map(({ waiting }) => waiting)
    const last = new Map(sendable.flatMap(({ plan }) => plan.changes.map((change) => [change.path, change] as const)))
    // A failing index is told as it is: the commits stand, and the next call with the key brings the index along.
    const failure = await this.syncIndex([...last.values()]).then(() => undefined, (error: unknown) => ({ error }))
    for (const [n, { waiting }] of sendable.entries()) {
      if (failure) waiting.reject(failure.error)
      else waiting.resolve({ commit: made[n] ?? '', isNew: true })
    }
    return []
  }

  /** Git ended with an error: if it ended by itself and the key is not there, nothing will come of it any more. */
  async #judge(waiting: Waiting, error: unknown): Promise<void> {
    const hasEnded = error instanceof GitFailed && error.exitCode !== null
    const found = await this.branch.tip().then((tip) => this.branch.find(waiting.key, tip)).catch(() => 'unreadable')
    waiting.reject(hasEnded && found === undefined ? asNotApplied(error) : error)
  }
}

export function asNotApplied(error: unknown): unknown {
  if (error instanceof NotApplied || error instanceof NotSent) return error
  return new NotApplied(`no commit was made: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
}
