/** The ground a demo stands on: an embedded Postgres of its own, a queue (Redis where REDIS_URL is set), and a person's screen. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createClient, type PawlClient } from '@pawl/client'
import { digest, encode, newRunId } from '@pawl/core'
import { startEmbedded, stopEmbedded, type Embedded } from '@pawl/embedded'
import { dispatchRun, type AnyAgent } from '@pawl/harness'
import { Ledger, migrateLedger, readIdentity, startRun } from '@pawl/ledger'
import { connectQueue, type Queue } from '@pawl/queue'
import type { Moment } from './facts.ts'
import { killPostgres } from './fleet.ts'
import type { Screen } from './screen.ts'

export class Stage {
  readonly logPath: string
  #embedded: Embedded
  #ledger: Ledger
  #queue: Queue
  readonly #ledgerId: string

  private constructor(readonly folder: string, private readonly screen: Screen, readonly interrupted: AbortSignal, embedded: Embedded, ledger: Ledger, queue: Queue, ledgerId: string) {
    this.logPath = join(folder, 'workers.log')
    this.#embedded = embedded
    this.#ledger = ledger
    this.#queue = queue
    this.#ledgerId = ledgerId
  }

  /** An empty ledger in `folder`; what an earlier demo left there goes. */
  static async open(folder: string, screen: Screen, interrupted: AbortSignal): Promise<Stage> {
    await stopEmbedded(join(folder, 'postgres')).catch(() => false)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    const embedded = await startEmbedded({ folder: join(folder, 'postgres'), log: (line) => screen.detail(line) })
    const ledger = new Ledger({ url: embedded.url, name: 'pawl-demo' })
    await migrateLedger(ledger)
    const { id } = await readIdentity(ledger)
    const queue = openQueue(embedded.url, id, screen)
    await queue.ready()
    return new Stage(folder, screen, interrupted, embedded, ledger, queue, id)
  }

  get ledger(): Ledger {
    return this.#ledger
  }

  get queue(): Queue {
    return this.#queue
  }

  get databaseUrl(): string {
    return this.#embedded.url
  }

  readonly say = (line: string): void => this.screen.say(line)

  progress(moment: Moment, kills: number): void {
    this.screen.progress(moment, kills)
  }

  env(): Record<string, string> {
    return { DATABASE_URL: this.#embedded.url, PAWL_QUEUE: this.#queue.backend }
  }

  async startRun(agent: AnyAgent, input: unknown): Promise<string> {
    const id = newRunId()
    const parsed = agent.inputSchema.parse(input) as unknown
    await startRun(this.#ledger, {
      id, namespace: 'default', key: null, digest: digest(parsed), agent: agent.name, agentVersion: agent.version, modelVersion: null, promptVersion: null, schemaVersion: 1,
      lockDigest: null, input: encode(parsed, { what: 'input' }), labels: { from: 'demo' }, policy: agent.policy ?? {}, createdBy: 'demo', split: true,
    })
    await dispatchRun({ ledger: this.#ledger, queue: this.#queue, ledgerId: this.#ledgerId }, id)
    return id
  }

  /** As the person in the loop has it. */
  client(): PawlClient {
    const [ledger, queue] = [this.#ledger, this.#queue]
    return createClient({ ledger, actor: 'demo', dispatch: async (runId) => { await dispatchRun({ ledger, queue, ledgerId: this.#ledgerId }, runId) } })
  }

  async killStore(): Promise<void> {
    killPostgres(this.#embedded.folder)
  }

  /** What an operator does after a power cut: start it again, on the same folder. */
  async restartStore(): Promise<void> {
    await this.#embedded.detach().catch(() => {})
    this.#embedded = await startEmbedded({ folder: join(this.folder, 'postgres'), log: (line) => this.screen.detail(line) })
    await this.#ledger.close()
    await this.#queue.close()
    this.#ledger = new Ledger({ url: this.#embedded.url, name: 'pawl-demo' })
    this.#queue = openQueue(this.#embedded.url, this.#ledgerId, this.screen)
    await this.#queue.ready()
  }

  async close(): Promise<void> {
    await this.#queue.close()
    await this.#ledger.close()
    await this.#embedded.release()
  }
}

function openQueue(databaseUrl: string, ledgerId: string, screen: Screen): Queue {
  const redisUrl = process.env['REDIS_URL']
  return connectQueue({ backend: redisUrl ? 'redis' : 'postgres', url: redisUrl || databaseUrl, ledgerId, onError: (error, where) => screen.detail(`queue, ${where}: ${error.message}`) })
}
