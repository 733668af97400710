/** How fast a run's items are done, by the minute, and when the rest would be at that pace. */
import { isUuid } from '@pawl/core'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'

export interface PaceView {
  readonly perMinute: readonly { readonly at: Date; readonly done: number }[]
  /** Items that are not ended, and the done ones of the last `recentMs`. */
  readonly left: number
  readonly recent: number
  readonly recentMs: number
}

const facts = z.object({
  perMinute: z.array(z.object({ at: z.coerce.date(), done: z.number() })), left: z.number(), recent: z.number(), recentMs: z.number(),
})
/** What "recent" is: long enough for items that take a minute, short enough to notice a slower fleet. */
const recentMinutes = 5

/** The last `minutes` minutes, the current one included, or those since the run began. */
export async function readPace(ledger: Ledger, runId: string, minutes: number): Promise<PaceView | undefined> {
  if (!isUuid(runId)) return undefined
  const [row] = await ledger.query(`
    with r as (select coalesce(started_at, created_at) as begun, least(coalesce(finished_at, clock_timestamp()), clock_timestamp()) as until from pawl.runs where id = $1),
    d as (select date_trunc('minute', i.finished_at) as minute, count(*)::integer as n, (count(*) filter (where i.finished_at > r.until - make_interval(mins => $3)))::integer as recent
      from r, pawl.items i where i.run_id = $1 and i.kind = 'work' and i.status = 'done' and i.finished_at > date_trunc('minute', r.until) - make_interval(mins => $2 - 1) group by 1)
    select (select count(*)::integer from pawl.items i where i.run_id = $1 and i.kind = 'work' and i.status in ('pending', 'in_progress')) as left,
      coalesce((select sum(recent)::integer from d), 0) as recent,
      extract(epoch from least(r.until - r.begun, make_interval(mins => $3)))::double precision * 1000 as "recentMs",
      (select coalesce(json_agg(json_build_object('at', m.minute, 'done', coalesce(d.n, 0)) order by m.minute), '[]')
        from generate_series(greatest(date_trunc('minute', r.begun), date_trunc('minute', r.until) - make_interval(mins => $2 - 1)), date_trunc('minute', r.until), interval '1 minute') as m(minute)
        left join d on d.minute = m.minute) as "perMinute"
    from r`, [runId, minutes, recentMinutes], { retryForMs: 3_000 })
  return row === undefined ? undefined : facts.parse(row)
}
