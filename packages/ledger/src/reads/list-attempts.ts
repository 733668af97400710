/** Every claim of an item, oldest first, with what became of it as far as the ledger tells. */
import { isUuid, ITEM_STATUSES } from '@pawl/core'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'

export interface AttemptView {
  readonly epoch: number
  readonly workerId: string
  readonly startedAt: Date
  readonly agentVersion: string
  readonly modelVersion: string | null
  readonly promptVersion: string | null
  readonly build: string | null
  /** Null: it is at work. */
  readonly ended: string | null
}

const row = z.object({
  epoch: z.number(), workerId: z.string(), startedAt: z.date(), agentVersion: z.string(), modelVersion: z.string().nullable(), promptVersion: z.string().nullable(), build: z.string().nullable(),
  isLast: z.boolean(), isCurrent: z.boolean(), status: z.enum(ITEM_STATUSES), reason: z.string().nullable(), event: z.string().nullable(), why: z.string().nullable(),
})

export async function listAttempts(ledger: Ledger, runId: string, seq: number): Promise<AttemptView[]> {
  if (!isUuid(runId) || !Number.isInteger(seq) || seq < 0 || seq > 2_147_483_647) return []
  const rows = await ledger.query(`
    with own as (select a.*, lead(a.started_at) over (order by a.epoch) as next_at from pawl.attempts a where a.run_id = $1 and a.item_seq = $2)
    select a.epoch, a.worker_id as "workerId", a.started_at as "startedAt", a.agent_version as "agentVersion", a.model_version as "modelVersion", a.prompt_version as "promptVersion",
      a.build_version as build, a.next_at is null as "isLast", a.epoch = i.epoch as "isCurrent", i.status, i.blocked_reason as reason, e.kind as event, e.why
    from own a join pawl.items i on i.run_id = $1 and i.seq = $2
    left join lateral (select e.kind, e.data ->> 'reason' as why from pawl.events e
      where e.run_id = $1 and e.item_seq = $2 and (e.kind = 'item.lease_ended' and (e.data ->> 'epoch')::integer = a.epoch
        or e.kind = 'item.blocked' and e.at >= a.started_at and (a.next_at is null or e.at < a.next_at)) order by e.id limit 1) e on true
    order by a.epoch`, [runId, seq], { retryForMs: 3_000 })
  return rows.map((each) => row.parse(each)).map(({ isLast, isCurrent, status, reason, event, why, ...attempt }) => ({ ...attempt, ended: endOf({ isLast, isCurrent, status, reason, event, why }) }))
}

function endOf({ isLast, isCurrent, status, reason, event, why }: Pick<z.infer<typeof row>, 'isLast' | 'isCurrent' | 'status' | 'reason' | 'event' | 'why'>): string | null {
  if (isLast && isCurrent && status === 'in_progress') return null
  if (event === 'item.lease_ended') return 'lost its lease'
  if (isLast && isCurrent && status !== 'pending') return status === 'blocked' && reason !== null ? `blocked: ${reason}` : status
  if (event === 'item.blocked') return `blocked: ${why ?? 'unknown'}`
  return isLast && !isCurrent ? status : 'handed back'
}
