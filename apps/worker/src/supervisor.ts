/**
 * Keeps N worker processes running and, when one dies, makes its items available at once: the death of one's own child is the one death
 * that is known for certain. The child leads a process group of its own, and tells of the groups it starts (MCP servers); all of them are ended
 * before its leases are freed, so that nothing of a dead attempt still works beside the next one.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { newId } from '@pawl/core'
import { dispatchRun, endDeadAttempts } from '@pawl/harness'
import { freeLeases, removeWorker } from '@pawl/ledger'
import type { Logger } from 'pino'
import type { Figures } from './child-figures.ts'
import type { Connections } from './connect.ts'
import { FleetFigures } from './fleet-figures.ts'

interface Child {
  readonly id: string
  readonly process: ChildProcess
  readonly startedAt: number
  isReady: boolean
  /** Process groups it started and that have not ended. */
  readonly groups: Set<number>
}

type Message = { readonly kind: 'ready' } | { readonly kind: 'figures'; readonly figures: Figures } | { readonly kind: 'group'; readonly pid: number; readonly isAlive: boolean }

/** A child too busy to tell its figures is told with the last it told. */
const answerMs = 1_000

export interface SupervisorOptions {
  readonly connections: Connections
  readonly processes: number
  readonly log: Logger
  readonly env: NodeJS.ProcessEnv
  readonly graceMs: number
  /** Gets what the processes print, line by line; without it they print where we do. */
  readonly onLine?: ((line: string) => void) | undefined
}

export class Supervisor {
  readonly #children = new Map<number, Child>()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #takeovers = new Set<Promise<void>>()
  readonly #figures = new FleetFigures()
  /** Scrapes that wait for a child's answer. */
  readonly #asked = new Map<string, () => void>()
  #isStopping = false
  /** Deaths nobody asked for. */
  deaths = 0

  constructor(private readonly options: SupervisorOptions) {}

  start(): void {
    for (let slot = 0; slot < this.options.processes; slot++) this.#spawn(slot, 0)
  }

  /** Pids of the processes that are ready, for health checks and for those who kill on purpose. */
  get pids(): number[] {
    return [...this.#children.values()].flatMap((child) => (child.isReady && child.process.pid !== undefined ? [child.process.pid] : []))
  }

  get isComplete(): boolean {
    return this.pids.length === this.options.processes
  }

  /** Of all worker processes, in the Prometheus text format. */
  async metrics(): Promise<string> {
    await Promise.all([...this.#children.values()].filter((child) => child.isReady).map((child) => this.#ask(child)))
    return await this.#figures.text()
  }

  async #ask({ id, process: child }: Child): Promise<void> {
    const before = this.#asked.get(id)
    const answered = new Promise<void>((resolve) => { this.#asked.set(id, () => { before?.(); resolve() }) })
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => { timer = setTimeout(resolve, answerMs) })
    if (child.connected) child.send({ kind: 'figures' }, () => {})
    await Promise.race([answered, late])
    clearTimeout(timer)
  }

  #spawn(slot: number, quickDeaths: number): void {
    const id = newId()
    const { onLine } = this.options
    const child: Child = {
      id, startedAt: Date.now(), isReady: false, groups: new Set(),
      process: fork(new URL('./child.js', import.meta.url), {
        detached: true, env: { ...this.options.env, PAWL_WORKER_ID: id, PAWL_WORKER_NAME: `worker-${slot + 1}` }, ...(onLine === undefined ? {} : { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] as const }),
      }),
    }
    if (onLine !== undefined) for (const stream of [child.process.stdout, child.process.stderr]) if (stream !== null) createInterface({ input: stream }).on('line', onLine)
    this.#children.set(slot, child)
    child.process.on('message', (message: Message) => {
      if (message.kind === 'ready') child.isReady = true
      else if (message.kind === 'figures') this.#heard(child.id, message.figures)
      else if (message.isAlive) child.groups.add(message.pid)
      else child.groups.delete(message.pid)
    })
    child.process.on('exit', (code, signal) => {
      this.#children.delete(slot)
      void this.#figures.end(child.id)
      for (const pid of [child.process.pid, ...child.groups]) endGroup(pid)
      if (this.#isStopping && code === 0) return
      this.deaths++
      this.options.log.warn({ pid: child.process.pid, code, signal }, 'a worker process died; its items go on elsewhere')
      this.#track(this.#takeOver(child))
      if (this.#isStopping) return
      const quick = Date.now() - child.startedAt < 5_000 ? quickDeaths + 1 : 0
      const timer = setTimeout(() => { this.#timers.delete(timer); this.#spawn(slot, quick) }, Math.min(5_000, quick === 0 ? 0 : 100 * 2 ** quick))
      this.#timers.add(timer)
    })
  }

  #heard(id: string, figures: Figures): void {
    this.#figures.take(id, figures)
    this.#asked.get(id)?.()
    this.#asked.delete(id)
  }

  #track(takeover: Promise<void>): void {
    this.#takeovers.add(takeover)
    void takeover.finally(() => this.#takeovers.delete(takeover))
  }

  /** Rows the dead child's last flush still holds are skipped and met again; what is left after that, the lease decides. */
  async #takeOver(child: Child): Promise<void> {
    const { ledger, queue, ledgerId } = this.options.connections
    await endDeadAttempts(ledger, child.id, (error) => this.options.log.warn({ worker: child.id }, `the trace of a dead worker stays open: ${error instanceof Error ? error.message : String(error)}`))
    for (let round = 0; round < 5; round++) {
      try {
        const freed = await freeLeases(ledger, child.id)
        for (const { runId } of freed) await dispatchRun({ ledger, queue, ledgerId }, runId)
        if (freed.length === 0 && round > 0) break
      } catch (error) {
        this.options.log.warn({ worker: child.id }, `its leases could not be freed yet: ${error instanceof Error ? error.message : String(error)}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    await removeWorker(ledger, child.id).catch(() => {})
  }

  /** Hands everything back and ends; what does not end within the grace is killed. */
  async stop(): Promise<void> {
    this.#isStopping = true
    for (const timer of this.#timers) clearTimeout(timer)
    const ended = [...this.#children.values()].map((child) => new Promise<void>((resolve) => child.process.once('exit', () => resolve())))
    for (const child of this.#children.values()) child.process.kill('SIGTERM')
    await Promise.race([Promise.all(ended), new Promise((resolve) => setTimeout(resolve, this.options.graceMs + 2_000).unref())])
    for (const child of this.#children.values()) child.process.kill('SIGKILL')
    await Promise.all(ended)
    await Promise.all(this.#takeovers)
  }
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // the group is empty
  }
}
