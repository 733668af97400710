/**
 * A chaos run of virtual workers: runs of every kind on a real ledger and a real queue, struck from the seed at every failpoint, its answers lost, its
 * backends killed, its receivers faulty, until so many faults have occurred; then calm, until everything is quiet; then the verdict.
 */
import { Ledger, migrateLedger, readIdentity } from '@pawl/ledger'
import { connectQueue } from '@pawl/queue'
import { BackendKiller, controlName } from './backend-killer.ts'
import { beginRun } from './begin-run.ts'
import { Chance } from './chance.ts'
import { chaosAgent } from './chaos-agent.ts'
import { chaosTools, common } from './chaos-tools.ts'
import { driveRun, type DrivenRun, type DriveParts } from './drive-run.ts'
import { Fleet } from './fleet.ts'
import { judge, type Judgement } from './judge.ts'
import { openKnownHole } from './known-hole.ts'
import { Observer } from './observer.ts'
import { Person } from './person.ts'
import { Receiver } from './receiver.ts'
import { RunWatch } from './run-watch.ts'
import { StrikePlan } from './strike-plan.ts'
import { withProof } from './proof.ts'
import { Tally, type ChaosReport } from './tally.ts'
import { WatchedLedger } from './watched-ledger.ts'

export interface ChaosOptions {
  /** An empty database. */
  readonly url: string
  readonly faults: number
  readonly seed: number
  /** No new run is started after this, however many faults there were. */
  readonly minutes?: number
  /** Runs under way at once. */
  readonly breadth?: number
  readonly workers?: number
  /** How long a run may take before it is spared, then again before it counts as lost; and so long the ledger may take to become quiet. */
  readonly deadlineMs?: number
  readonly holes?: number
  readonly say?: (line: string) => void
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const replaceEveryMs = 8_000
const killEveryMs = 1_500
const tickMs = 50
/** What is rare in a short run is waited for, up to so many times the faults asked for. */
const mostFactor = 2
const mostLagMs = 60
const sayEveryMs = 10_000

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const begunAt = performance.now()
  const chaos = await Chaos.open(options)
  try {
    await chaos.storm()
    return await chaos.verdict(begunAt)
  } finally {
    await chaos.close()
  }
}

class Chaos {
  readonly #driven: DrivenRun[] = []
  readonly #stuck: string[] = []
  readonly #underWay = new Set<Promise<void>>()
  readonly #closers: (() => Promise<void> | void)[] = []
  #hole: Promise<unknown> = Promise.resolve()
  #isCalm = false
  #next = 0

  private constructor(
    private readonly options: ChaosOptions, private readonly tally: Tally, private readonly control: Ledger,
    private readonly parts: Omit<DriveParts, 'watch'> & { readonly fleet: Fleet }, private readonly person: Person, private readonly watch: RunWatch,
  ) {}

  static async open(options: ChaosOptions): Promise<Chaos> {
    const { url, seed } = options
    const tally = new Tally()
    const chance = new Chance(seed)
    const observer = new Observer(tally)
    const control = new Ledger({ url, name: controlName, connections: 4, statementTimeoutMs: 120_000, deadlineMs: 125_000 })
    await migrateLedger(control)
    await control.query('create table effects (op text, subject text)')
    const effects = await Receiver.start()
    let chaos: Chaos | undefined
    const isCalm = (): boolean => chaos === undefined || chaos.#isCalm
    const ledger = new WatchedLedger({ url, name: 'chaos workers', connections: 8 }, { chance, observer, tally, lostShare: () => (isCalm() ? 0 : 0.02) })
    const { id } = await readIdentity(control)
    const queue = connectQueue({ backend: 'postgres', url, ledgerId: id, onError: () => {} })
    await queue.ready()
    const numbers = new Map<string, number>()
    const resumed = new Set<number>()
    const agent = chaosAgent(chance, chaosTools({ effects, chance, tally }), (n) => resumed.has(n))
    let fleet: Fleet | undefined
    const hole = openKnownHole(effects, () => fleet)
    fleet = new Fleet({
      ledger, queue, agents: [agent, hole.agent], observer, tally, numberOf: (runId) => numbers.get(runId), plan: new StrikePlan(chance, observer, () => (isCalm() ? 0 : 1)),
      log: (_, line) => { if (line.startsWith('deduplicated')) tally.count('sharedKeys') },
    })
    await fleet.start(options.workers ?? 4)
    const touch = (runId: string): void => fleet?.touch(runId)
    const person = new Person({ ledger: control, effects, observer, tally, touch })
    const watch = new RunWatch(control, options.deadlineMs ?? 180_000, (runId) => {
      tally.spared++
      numbers.delete(runId)
    })
    const parts = { ledger: control, agent, fleet, effects, chance, observer, tally, resumed, named: (n: number, runId: string) => void numbers.set(runId, n) }
    chaos = new Chaos(options, tally, control, parts, person, watch)
    chaos.#closers.push(() => person.close(), () => watch.close(), () => effects.close(), async () => await fleet?.stop(), () => queue.close(), () => ledger.close(), () => control.close())
    const holes = Array.from({ length: options.holes ?? 2 }, async (_, i) => {
      const subject = `hole-${i}`
      touch(await beginRun(control, hole.agent, { subject }, [{ key: 'only', payload: null }], {}, () => {}))
      await Promise.race([hole.doubled(subject), pause(60_000)])
    })
    chaos.#hole = Promise.all(holes)
    return chaos
  }

  /** Starts runs until so many faults have occurred, then waits until each has ended. */
  async storm(): Promise<void> {
    const { faults, minutes, breadth = 24 } = this.options
    const until = minutes === undefined ? Number.POSITIVE_INFINITY : performance.now() + minutes * 60_000
    const killer = new BackendKiller(this.control, this.tally, killEveryMs)
    this.#closers.unshift(() => killer.close())
    let replacedAt = performance.now()
    let saidAt = performance.now()
    let lagMs = 0
    for (;;) {
      const now = performance.now()
      const isEnough = this.tally.faultCount >= faults && (this.tally.isProved || this.tally.faultCount >= mostFactor * faults)
      const isOver = isEnough || now >= until
      if (isOver && !this.#isCalm) {
        this.#isCalm = true
        killer.close()
      }
      // A machine that is behind gets no more work: calls that time out one and all prove little.
      if (!isOver && this.#underWay.size < breadth && lagMs < mostLagMs) this.#drive()
      if (isOver && this.#underWay.size === 0) break
      if (now - replacedAt > replaceEveryMs) {
        replacedAt = now
        await this.parts.fleet.replaceWorst(!isOver)
      }
      if (now - saidAt > sayEveryMs) {
        saidAt = now
        this.options.say?.(`${this.tally.faultCount} faults (${[...this.tally.faults].map(([kind, n]) => `${kind} ${n}`).join(', ')}), ${this.#driven.length} runs ended, ${this.#underWay.size} under way`)
      }
      const restsAt = performance.now()
      await pause(tickMs)
      lagMs = 0.8 * lagMs + 0.2 * (performance.now() - restsAt - tickMs)
    }
    await this.#hole
    await this.#quiet()
  }

  #drive(): void {
    const n = this.#next++
    const run = driveRun({ ...this.parts, watch: this.watch }, n)
      .then((driven) => void this.#driven.push(driven), (error: unknown) => void this.#stuck.push(`run number ${n}: ${error instanceof Error ? error.message : String(error)}`))
      .finally(() => this.#underWay.delete(run))
    this.#underWay.add(run)
  }

  /** Nothing is live in the ledger, and no attempt is left in any worker: every zombie has woken. */
  async #quiet(): Promise<void> {
    const until = Date.now() + (this.options.deadlineMs ?? 180_000)
    for (;;) {
      const [row] = await this.control.query<{ live: boolean }>(`select exists (select 1 from pawl.items where status in ('pending', 'in_progress', 'blocked')) as live`)
      while (await this.parts.fleet.replaceWorst(false));
      if (!(row?.live ?? true) && this.parts.fleet.running === 0) return
      if (Date.now() > until) return
      await pause(100)
    }
  }

  async verdict(begunAt: number): Promise<ChaosReport> {
    const judged = await judge(this.control, this.parts.effects, this.#driven)
    this.tally.count('recallFromMemory', judged.recallFromMemory)
    this.tally.count('evidenceUsed', judged.evidenceUsed)
    return report(this.options.seed, this.tally, judged, this.#stuck, this.person, this.parts.effects.standstills(), (performance.now() - begunAt) / 1_000)
  }

  async close(): Promise<void> {
    this.#isCalm = true
    for (const close of this.#closers) await close()
  }
}

function report(seed: number, tally: Tally, judged: Judgement, stuck: readonly string[], person: Person, standstills: ReturnType<Receiver['standstills']>, seconds: number): ChaosReport {
  // The many come last: only so many are shown.
  const broken = standstills.filter(({ ms }) => ms > common.timeout + common.settleWindow)
    .map(({ at, ms }) => `the receiver's process stood still for ${ms} ms until ${at}: it broke its word, and what was doubled then says nothing of Pawl`)
  const problems = [...broken, ...person.needless.map((one) => `needless escalation: ${one}`), ...person.contradictions, ...judged.problems, ...stuck]
  const counters = {
    ...Object.fromEntries(tally.faults), ...Object.fromEntries(tally.counters), ...Object.fromEntries([...tally.struck].map(([name, n]) => [`at ${name}`, n])),
    items: judged.items, throws: tally.throws, stalls: tally.stalls, spared: tally.spared, crashLoops: person.crashLoops,
  }
  return withProof({
    tier: 'virtual', faults: tally.faultCount, effects: judged.effects, duplicates: judged.duplicates, knownHole: judged.knownHole, lost: judged.lost + stuck.length,
    violations: judged.violations + person.contradictions.length, needlessEscalations: person.needless.length,
    counters, seed, seconds: Math.round(seconds), problems,
  })
}
