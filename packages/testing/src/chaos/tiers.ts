/** The tiers of `npm run chaos`: each breaks Pawl in its own way, on services it starts itself, and reports what receivers and ledger say afterwards. */
import { casesTier } from '../cases/tier.ts'
import { infraTier } from '../infra/infra-tier.ts'
import { processesTier } from '../processes/processes-tier.ts'
import { databaseTier } from '../database/database-tier.ts'
import { virtualTier } from './virtual-tier.ts'

export interface TierRequest {
  readonly faults: number
  readonly kills: number
  readonly seed: number
  /** No new work is begun after this time. */
  readonly minutes?: number
  /** Runs under way at once; each tier has its own. */
  readonly breadth?: number
  /** Processes a tier of virtual workers is spread over. Default: one for each core. */
  readonly shards?: number
  /** Numbers of literal cases. Absent: all of them. */
  readonly cases?: readonly number[]
  /** Absent: each of them in turn, where the tier has both. */
  readonly queue?: 'redis' | 'postgres'
  /** Progress, for a person. */
  readonly say: (line: string) => void
}

/** Figures beside these are the tier's own; all of them are printed. */
export interface TierReport {
  readonly ok: boolean
  /** A sentence for each thing that is wrong; empty when `ok`. */
  readonly problems: readonly string[]
  readonly counters?: Readonly<Record<string, number>>
}

export type Tier = (request: TierRequest) => Promise<TierReport>

export const tiers: Readonly<Record<string, Tier>> = {
  virtual: virtualTier,
  database: databaseTier,
  processes: processesTier,
  infra: infraTier,
  cases: casesTier,
}
