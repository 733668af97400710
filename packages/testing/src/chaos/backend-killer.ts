/** Ends server processes of Postgres at random, the ledger's and the queue's, those at work first: the statement's outcome is unknown to its client. */
import type { Ledger } from '@pawl/ledger'
import type { Tally } from './tally.ts'

export const controlName = 'chaos control'

export class BackendKiller {
  readonly #timer: NodeJS.Timeout

  constructor(private readonly ledger: Ledger, private readonly tally: Tally, everyMs: number) {
    this.#timer = setInterval(() => void this.#kill(), everyMs)
  }

  async #kill(): Promise<void> {
    const rows = await this.ledger.query<{ killed: boolean }>(`select pg_terminate_backend(x.pid) as killed from (
      select a.pid from pg_stat_activity a where a.datname = current_database() and a.backend_type = 'client backend' and a.application_name not like '${controlName}%'
      order by a.state = 'active' desc nulls last, random() limit 1) x`).catch((): { killed: boolean }[] => [])
    this.tally.fault('backendKilled', rows.filter((row) => row.killed).length)
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
