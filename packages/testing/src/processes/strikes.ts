/** Strikes at worker processes at seeded moments: SIGKILL, SIGSTOP past the lease and SIGCONT, SIGTERM, and now and then the supervisor; those with calls in flight first. */
import type { Killed } from './resume.ts'
import { timings, type LiveWorker, type Stage } from './stage.ts'
import { signalWorker, type WorkerFleet } from './worker-fleet.ts'

export type StrikeKind = 'kill' | 'stop' | 'term' | 'supervisor'

const supervisorShare = 0.02
const shares: readonly (readonly [StrikeKind, number])[] = [['supervisor', supervisorShare], ['stop', 0.08], ['term', 0.06]]
/** Strikes at a worker that has a call in flight, where there is one; else at one that holds an item; hardly ever at one that has nothing to lose. */
const aimedShare = 0.8
const idleShare = 0.03
/** A supervisor takes a moment to be back. */
const fewestWorkers = 2
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export class Striker {
  readonly kills: Killed[] = []
  /** Kills and stops: whatever keeps a worker from going on. */
  readonly all: Killed[] = []
  readonly counts: Record<StrikeKind, number> = { kill: 0, stop: 0, term: 0, supervisor: 0 }
  /** How many of those that woke found somebody else at an item of theirs. */
  zombies = 0
  inFlightAtDeath = 0
  readonly #asleep = new Map<string, Promise<void>>()
  #n = 0

  constructor(private readonly stage: Stage, private readonly fleet: WorkerFleet) {}

  /** One strike. False: nobody to strike at. */
  async strike(): Promise<boolean> {
    const n = ++this.#n
    const { chance } = this.stage
    const workers = (await this.stage.liveWorkers().catch((): readonly LiveWorker[] => [])).filter((worker) => !this.#asleep.has(worker.id))
    if (workers.length < fewestWorkers) return false
    const holding = workers.filter((worker) => worker.held > 0 || chance.happens(idleShare, 'idle', n))
    const busy = holding.filter((worker) => worker.in_flight > 0)
    const from = busy.length > 0 && chance.happens(aimedShare, 'aimed', n) ? busy : holding
    const [first, ...rest] = from
    if (!first) return false
    const worker = chance.pick([first, ...rest], 'whom', n)
    // Not at the moment of looking, which is always the same distance from a tick.
    await pause(chance.between(0, 40, 'when', n))
    const kind = this.#kindOf(n)
    if (kind === 'supervisor') return this.#strikeSupervisor()
    return await this.#strikeWorker(worker, kind, n)
  }

  #kindOf(n: number): StrikeKind {
    let left = this.stage.chance.draw('kind of strike', n)
    for (const [kind, share] of shares) if ((left -= share) < 0) return kind
    return 'kill'
  }

  #strikeSupervisor(): boolean {
    this.counts.supervisor++
    this.fleet.killSupervisor()
    return true
  }

  async #strikeWorker(worker: LiveWorker, kind: 'kill' | 'stop' | 'term', n: number): Promise<boolean> {
    const { observer } = this.stage
    const at = Date.now()
    if (kind === 'kill') observer.workerDied(worker.id)
    if (!signalWorker(worker, kind === 'kill' ? 'SIGKILL' : kind === 'stop' ? 'SIGSTOP' : 'SIGTERM')) return false
    this.counts[kind]++
    if (kind === 'kill') {
      this.kills.push({ workerId: worker.id, at })
      this.stage.tally.fault('workerKilled')
    }
    if (kind !== 'term') this.all.push({ workerId: worker.id, at })
    if (kind === 'stop') {
      this.stage.tally.fault('freeze')
      const waking = this.#wake(worker, n).finally(() => this.#asleep.delete(worker.id))
      this.#asleep.set(worker.id, waking)
    }
    for (const { tool } of await this.#see(worker.id)) this.#countUnsettled(tool)
    return true
  }

  /** What it held is told to whoever waits for a strike, and counted by class. Best effort: the takeover may be faster. */
  async #see(workerId: string): Promise<readonly { tool: string }[]> {
    const { ledger, observer } = this.stage
    const held = await ledger.query<{ run_id: string; seq: number; epoch: number; tools: string[] }>(`select i.run_id, i.seq, i.epoch,
      coalesce((select json_agg(a.tool) from pawl.actions a where a.run_id = i.run_id and a.item_seq = i.seq and a.status = 'started'), '[]') as tools
      from pawl.items i where i.status = 'in_progress' and i.worker_id = $1`, [workerId]).catch(() => [])
    for (const { run_id: runId, seq, epoch } of held) observer.struck({ runId, seq, epoch })
    return held.flatMap(({ tools }) => tools.map((tool) => ({ tool })))
  }

  #countUnsettled(tool: string): void {
    this.inFlightAtDeath++
    this.stage.tally.countUnsettled(tool)
  }

  async #wake(worker: LiveWorker, n: number): Promise<void> {
    const { ledger, chance, tally } = this.stage
    const held = await ledger.query<{ run_id: string; seq: number; epoch: number }>(`select run_id, seq, epoch from pawl.items where status = 'in_progress' and worker_id = $1`, [worker.id]).catch(() => [])
    await pause(timings.leaseMs * (1.1 + 2.2 * chance.draw('asleep', n)))
    const later = await ledger.query<{ taken: boolean }>(`select exists (select 1 from json_to_recordset($1::json) as h(run_id uuid, seq integer, epoch integer)
      join pawl.items i on i.run_id = h.run_id and i.seq = h.seq where i.epoch > h.epoch) as taken`, [JSON.stringify(held)]).catch(() => [])
    if (!signalWorker(worker, 'SIGCONT') || later[0]?.taken !== true) return
    this.zombies++
    tally.count('zombiesAfterTakeover')
  }

  /** Everybody who stands still wakes in time. */
  async calm(): Promise<void> {
    await Promise.all(this.#asleep.values())
  }
}
