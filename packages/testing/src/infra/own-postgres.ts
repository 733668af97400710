/** An embedded Postgres of the tier's own, with fsync on, to be crashed and started again: what it acknowledged must be there. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbedded, type Embedded } from '@pawl/embedded'
import { Ledger } from '@pawl/ledger'

/** `SIGQUIT` is what `pg_ctl stop -m immediate` sends: no checkpoint, no goodbye. `SIGKILL` leaves its children to find out by themselves. */
export type CrashSignal = 'SIGQUIT' | 'SIGKILL'

export class OwnPostgres {
  private constructor(private readonly folder: string, private current: Embedded) {}

  static async start(folder: string): Promise<OwnPostgres> {
    return new OwnPostgres(folder, await startEmbedded({ folder }))
  }

  /** Of the first database. The port may be another after a restart. */
  get url(): string {
    return this.current.url
  }

  /** Where its data lies: the folder asked for, or elsewhere for an account that cannot reach that. */
  get place(): string {
    return this.current.folder
  }

  async crash(signal: CrashSignal): Promise<void> {
    const pid = Number(readFileSync(join(this.place, 'pg', 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
    // Or the owner's session would win itself back and keep us from starting the server again.
    await this.current.detach()
    process.kill(pid, signal)
  }

  /** Resolves once it answers again. */
  async restart(): Promise<void> {
    this.current = await startEmbedded({ folder: this.folder })
  }

  async createDatabase(name: string): Promise<void> {
    const ledger = new Ledger({ url: this.url, connections: 1 })
    await ledger.query(`create database ${name}`).finally(() => ledger.close())
  }

  async close(): Promise<void> {
    await this.current.release()
  }
}
