/** What all scenarios stand on: one Postgres and one Redis, really started and really killed, and a fault proxy before each. A database and a ledger per scenario. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Chance } from '../chaos/chance.ts'
import { startFaultProxy, type FaultProxy } from '../fault-proxy.ts'
import { OwnPostgres, type CrashSignal } from './own-postgres.ts'
import { OwnRedis } from './own-redis.ts'

export interface GroundOptions {
  readonly seed: number
  /** 1: as operators would see it. Less: fewer strikes, shorter outages, less load, short leases. */
  readonly scale: number
  readonly say: (line: string) => void
}

export class Ground {
  redisFlushes = 0
  postgresCrashes = 0
  #databases = 0

  private constructor(
    readonly options: GroundOptions, readonly chance: Chance, readonly folder: string,
    readonly postgres: OwnPostgres, readonly redis: OwnRedis,
    /** The workers' way to Postgres, and to Redis. */
    readonly postgresDoor: FaultProxy, readonly redisDoor: FaultProxy,
    /** The scenario's own way to Postgres: no fault is put on it, but it follows a server whose port has changed. */
    private readonly sideDoor: FaultProxy,
  ) {}

  static async open(options: GroundOptions): Promise<Ground> {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-infra-'))
    // Postgres runs as another user where we are root, and has to pass through.
    chmodSync(folder, 0o711)
    const redis = await OwnRedis.start(join(folder, 'redis'))
    const postgres = await OwnPostgres.start(join(folder, 'postgres'))
    const [postgresDoor, redisDoor, sideDoor] = await Promise.all([startFaultProxy(postgres.url), startFaultProxy(redis.url), startFaultProxy(postgres.url)])
    return new Ground(options, new Chance(options.seed), folder, postgres, redis, postgresDoor, redisDoor, sideDoor)
  }

  /** At least `least`, `literal` at scale 1. */
  scaled(literal: number, least = 1): number {
    return Math.max(least, Math.round(literal * this.options.scale))
  }

  async createDatabase(): Promise<{ workers: string; side: string }> {
    const name = `infra_${++this.#databases}`
    await this.postgres.createDatabase(name)
    const through = (door: FaultProxy): string => Object.assign(new URL(door.url), { pathname: `/${name}` }).href
    return { workers: through(this.postgresDoor), side: through(this.sideDoor) }
  }

  async flushRedis(): Promise<void> {
    await this.redis.run('FLUSHALL')
    this.redisFlushes++
  }

  /** Down for at least `downMs`. */
  async crashPostgres(signal: CrashSignal, downMs: number): Promise<void> {
    this.postgresCrashes++
    await this.postgres.crash(signal)
    await new Promise((resolve) => setTimeout(resolve, downMs))
    await this.postgres.restart()
    for (const door of [this.postgresDoor, this.sideDoor]) door.retarget(this.postgres.url)
  }

  /** Whatever a scenario left behind. */
  heal(): void {
    this.postgresDoor.heal()
    this.redisDoor.heal()
    this.redisDoor.retarget(this.redis.url)
  }

  async close(): Promise<void> {
    await Promise.all([this.postgresDoor, this.redisDoor, this.sideDoor].map((door) => door.close()))
    await this.redis.close()
    await this.postgres.close()
    for (const path of [this.postgres.place, this.folder]) rmSync(path, { recursive: true, force: true })
  }
}
