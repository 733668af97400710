/**
 * What happened to items and actions, and when, as the database itself saw it: triggers that write every claim, verdict and send to a table of their own.
 * The product knows nothing of them, so what they say of its speed and order is not its own opinion.
 */
import type { Ledger } from '@pawl/ledger'
import type { Observer } from '../chaos/observer.ts'

/** One change of an item (`tool` null) or one send of an action. */
export interface SeenRow extends Record<string, unknown> {
  readonly n: number
  /** Milliseconds since the epoch, of the database's clock: the same machine's. */
  readonly at_ms: number
  readonly run_id: string
  readonly seq: number
  readonly kind: string | null
  readonly status: string
  readonly epoch: number
  readonly worker_id: string | null
  readonly barren: number | null
  readonly tool: string | null
  readonly key: string | null
}

const everyMs = 100
/** Rows get their number before they are committed: the last few are read again. */
const overlap = 300

const setUp = [
  `create table chaos_seen (n bigserial primary key, at timestamptz not null default clock_timestamp(), run_id uuid not null, seq integer not null, kind text, status text not null, epoch integer not null,
    worker_id uuid, barren integer, tool text, key text)`,
  `create function chaos_see_item() returns trigger language plpgsql as $$ begin
    insert into public.chaos_seen (run_id, seq, kind, status, epoch, worker_id, barren) values (new.run_id, new.seq, new.kind, new.status, new.epoch, new.worker_id, new.barren_attempts); return null; end $$`,
  `create trigger chaos_see_item after update on pawl.items for each row when (old.status is distinct from new.status or old.epoch <> new.epoch or old.worker_id is distinct from new.worker_id) execute function chaos_see_item()`,
  `create function chaos_see_action() returns trigger language plpgsql as $$ begin
    insert into public.chaos_seen (run_id, seq, status, epoch, tool, key) values (new.run_id, new.item_seq, new.status, new.epoch, new.tool, new.key); return null; end $$`,
  `create trigger chaos_see_intent after insert on pawl.actions for each row execute function chaos_see_action()`,
  `create trigger chaos_see_send after update on pawl.actions for each row when (old.status is distinct from new.status or old.token is distinct from new.token) execute function chaos_see_action()`,
]

const columns = 'n::integer as n, (extract(epoch from at) * 1000)::float8 as at_ms, run_id, seq, kind, status, epoch, worker_id, barren, tool, key'

export class Witness {
  readonly #timer: NodeJS.Timeout
  #last = 0
  #isBusy = false

  private constructor(private readonly ledger: Ledger, private readonly observer: Observer) {
    this.#timer = setInterval(() => void this.#look(), everyMs)
  }

  static async open(ledger: Ledger, observer: Observer): Promise<Witness> {
    for (const text of setUp) await ledger.query(text)
    return new Witness(ledger, observer)
  }

  async #look(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      for (const row of await this.ledger.query<SeenRow>(`select ${columns} from chaos_seen where n > $1 and tool is null and status = 'in_progress' order by n`, [Math.max(0, this.#last - overlap)])) {
        this.#last = Math.max(this.#last, row.n)
        if (row.worker_id !== null) this.observer.claimed({ runId: row.run_id, seq: row.seq, epoch: row.epoch, kind: row.kind ?? 'work', barren: row.barren ?? 0, workerId: row.worker_id })
      }
    } catch {
      // Asked again.
    } finally {
      this.#isBusy = false
    }
  }

  /** Everything, in the order of time. */
  async all(): Promise<readonly SeenRow[]> {
    return await this.ledger.query<SeenRow>(`select ${columns} from chaos_seen order by at, n`)
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
