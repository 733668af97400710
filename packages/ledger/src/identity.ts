/**
 * Which ledger this is, and whether it is the one its jobs were rung for: after a restore or a promotion that may have lost its tail,
 * acknowledged intents may be missing, so nothing but reads is sent until a person has reviewed the gap.
 */
import { PawlError } from '@pawl/core'
import { z } from 'zod'
import type { Ledger } from './connect.ts'
import type { History } from './history.ts'
import { runVerbOnce } from './verbs/run-verb.ts'

export interface LedgerIdentity {
  readonly id: string
  /** The timeline the ledger was last known, or cleared, to be on. */
  readonly timeline: string
  /** False: this is not the server, or not the history, the ledger was written on, or a loss was noticed and not yet cleared. */
  readonly isTrusted: boolean
  readonly history: History
}

const row = z.object({ id: z.string(), timeline: z.string(), history: z.string() })

/** Compares the server's identity with the recorded one. Throws `NO_LEDGER` when the database was never migrated, `LEDGER_READ_ONLY` (next: retry) on a standby. */
export async function readIdentity(ledger: Ledger): Promise<LedgerIdentity> {
  const seen = ledger.gauge.begin()
  const [server] = await ledger.query<{ there: boolean; standby: boolean }>(`select to_regclass('pawl.ledger') is not null as there, pg_is_in_recovery() as standby`, [], { retryForMs: 5_000 })
  if (server?.standby) throw new PawlError('LEDGER_READ_ONLY', `The Postgres at ${ledger.host} is a standby and takes no writes. Point DATABASE_URL at the primary, or promote this one.`, 'retry')
  const [found] = !server?.there ? [] : await ledger.query('select l.id, l.timeline, pawl.history_now() as history from pawl.ledger l', [], { retryForMs: 5_000 })
  if (!found) throw new PawlError('NO_LEDGER', `The database at ${ledger.host} holds no ledger. Run "pawl migrate".`, 'crash')
  const identity = row.parse(found)
  const history = seen(identity.history)
  return { id: identity.id, timeline: identity.timeline, isTrusted: history.isKnown, history }
}

/** One look at the history the server is on, for a process that has nothing else to ask. */
export async function readHistory(ledger: Ledger): Promise<History> {
  const seen = ledger.gauge.begin()
  const [found] = await ledger.query<{ history: string }>('select pawl.history_now() as history')
  return seen(found?.history ?? '')
}

/** A call that a process remembers and that could not be brought back into the ledger. */
export interface LostCall {
  readonly run: string
  readonly item: number
  readonly key: string
  readonly tool: string
  readonly effect: string
  /** When its intent was acknowledged, by this process's clock: ISO 8601. */
  readonly at: string
  /** `twice`: it stands in the ledger with the result of another send, made as if it were new. */
  readonly why: 'missing' | 'ended' | 'twice'
}

export interface LossReport {
  /** The worker that has brought back all it remembers. */
  readonly workerId: string
  readonly lost: readonly LostCall[]
  /** The ledger was cleared before these were noted. */
  readonly isLate?: boolean
}

/** `note_loss`: holds sends back everywhere until a person clears the ledger. Does nothing to a ledger cleared since `seen`; then it returns false. */
export async function noteLoss(ledger: Ledger, seen: History, why: string, { workerId, lost, isLate }: Partial<LossReport> = {}): Promise<boolean> {
  const [noted] = await ledger.query<{ noted: boolean }>('select pawl.note_loss($1, $2, $3::jsonb, $4::uuid, $5) as noted',
    [seen.since, why, JSON.stringify(lost ?? []), workerId ?? null, isLate ?? false], { retryForMs: 5_000 })
  return noted?.noted === true
}

/** `clear_ledger`: a person has reviewed what may be missing, as `readGap` named it (`digest`); sends go on. False: more has been noted since, and nothing was cleared. */
export async function clearLedger(ledger: Ledger, actor: string, seen: string): Promise<boolean> {
  const { clear_ledger: outcome } = await runVerbOnce(ledger, 'clear_ledger', [actor, seen], z.object({ clear_ledger: z.enum(['cleared', 'changed']) }))
  if (outcome === 'cleared') ledger.gauge.reset()
  return outcome === 'cleared'
}
