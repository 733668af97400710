/** Chaos runs kept under way on a stage: started from the plan, one after another, until somebody says enough. */
import type { AnyAgent } from '@pawl/harness'
import { chaosAgent } from '../chaos/chaos-agent.ts'
import { chaosTools } from '../chaos/chaos-tools.ts'
import { driveRun, type DrivenRun } from '../chaos/drive-run.ts'
import { planRun, type RunKind } from '../chaos/run-plan.ts'
import type { Stage } from './stage.ts'

export class Load {
  readonly driven: DrivenRun[] = []
  /** Runs that did not end. */
  readonly stuck: string[] = []
  readonly #underWay = new Set<Promise<void>>()
  readonly #numbers = new Map<string, number>()
  readonly #agent: AnyAgent
  readonly #resumed: Set<number>
  #next = 0

  constructor(private readonly stage: Stage) {
    this.#agent = chaosAgent(stage.chance, chaosTools(stage), () => false)
    // The agents that look at it are in other processes.
    this.#resumed = new (class extends Set<number> {
      override add(n: number): this {
        stage.markResumed(n)
        return super.add(n)
      }
    })()
  }

  get underWay(): number {
    return this.#underWay.size
  }

  start(): void {
    const n = this.#next++
    const { ledger, effects, chance, observer, tally, watch } = this.stage
    const fleet = { touch: (runId: string): void => this.stage.touch(runId) }
    const named = (which: number, runId: string): void => void this.#numbers.set(runId, which)
    const run = driveRun({ ledger, agent: this.#agent, fleet, effects, chance, observer, tally, watch, resumed: this.#resumed, named }, n)
      .then((driven) => void this.driven.push(driven), (error: unknown) => void this.stuck.push(`run number ${n}: ${error instanceof Error ? error.message : String(error)}`))
      .finally(() => this.#underWay.delete(run))
    this.#underWay.add(run)
  }

  /** Everything that was started has ended, and nothing is live in the ledger. */
  async end(quietMs: number): Promise<void> {
    await Promise.all(this.#underWay)
    if (!(await this.stage.quiet(quietMs))) this.stuck.push(`items were live ${quietMs / 1_000} s after the last run had ended`)
  }

  kindOf(runId: string): RunKind | undefined {
    const n = this.#numbers.get(runId)
    return n === undefined ? undefined : planRun(this.stage.chance, n).kind
  }
}
