/**
 * Which ledger this is, and whether it is the one its jobs were rung for: after a restore or a promotion that may have lost its tail,
 * acknowledged intents may be missing, so nothing but reads is sent until a person has reviewed the gap.
 */
import { PawlError } from '@pawl/core'
import { z } from 'zod'
import type { Ledger } from './connect.ts'

export interface LedgerIdentity {
  readonly id: string
  /** The timeline the ledger was last known, or cleared, to be on. */
  readonly timeline: string
  /** False: this is not the server, or not the history, the ledger was written on. */
  readonly isTrusted: boolean
}

const row = z.object({ id: z.string(), system: z.string(), timeline: z.string(), systemNow: z.string(), timelineNow: z.string() })

/** Compares the server's identity with the recorded one. Throws `NO_LEDGER` when the database was never migrated. */
export async function readIdentity(ledger: Ledger): Promise<LedgerIdentity> {
  const [there] = await ledger.query<{ there: boolean }>(`select to_regclass('pawl.ledger') is not null as there`, [], { retryForMs: 5_000 })
  const [found] = !there?.there ? [] : await ledger.query(`select id, system_identifier as system, timeline, (select system_identifier::text from pg_control_system()) as "systemNow",
    pawl.timeline_now() as "timelineNow" from pawl.ledger`, [], { retryForMs: 5_000 })
  if (!found) throw new PawlError('NO_LEDGER', `The database at ${ledger.host} holds no ledger. Run "pawl migrate".`, 'crash')
  const identity = row.parse(found)
  return { id: identity.id, timeline: identity.timeline, isTrusted: identity.system === identity.systemNow && identity.timeline === identity.timelineNow }
}

/** A person has reviewed what may be missing; sends go on. */
export async function clearLedger(ledger: Ledger, actor: string): Promise<void> {
  await ledger.query(`update pawl.ledger set system_identifier = (select system_identifier::text from pg_control_system()), timeline = pawl.timeline_now(),
    cleared_at = clock_timestamp(), cleared_by = $1`, [actor])
}
