/** Counts, inside a worker process, what the ledger answered it: takeovers, fenced writes, sends that came too late, doorbells that had to ring again. */
import { Ledger } from '@pawl/ledger'
import type { Tally } from '../chaos/tally.ts'

type Row = Record<string, unknown>

/** Every ledger of this process from here on. Its own verbs are untouched: this reads what they read. */
export function watchAnswers(tally: Tally): void {
  // eslint-disable-next-line typescript/unbound-method -- called with its own `this` below
  const query = Ledger.prototype.query
  Ledger.prototype.query = async function watched<R extends Row = Row>(this: Ledger, ...[text, params = [], options = {}]: Parameters<Ledger['query']>): Promise<R[]> {
    const rows = await query.call(this, text, params, options)
    see(tally, text, params, rows)
    return rows as R[]
  }
}

function see(tally: Tally, text: string, params: readonly unknown[], rows: readonly Row[]): void {
  if (text.includes('with want as materialized')) tally.count('sendWindowAborts', String(params[1]).split('"outcome":"unsent"').length - 1)
  // A place read back after a flush: an epoch that is no longer there was fenced.
  else if (text.includes('select i.run_id as run, i.seq, w.epoch as want')) tally.count('fencedWrites', rows.filter((row) => row['epoch'] !== row['want']).length)
  else if (text.includes('pawl.rearm_action(')) tally.count('fencedWrites', rows[0]?.['outcome'] === 'fenced' ? 1 : 0)
  else if (text.includes('pawl.free_leases(')) tally.count('takeovers', rows.reduce((sum, row) => sum + Number(row['freed']), 0))
  else if (text.includes('pawl.take_due_items(')) {
    const taken = (rows[0]?.['taken'] ?? []) as readonly { generation: number; again: boolean }[]
    tally.count('redispatches', taken.filter((item) => item.again && item.generation > 1).length)
  }
}
