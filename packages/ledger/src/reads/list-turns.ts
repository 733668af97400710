/** What a model decided in an item, turn by turn. */
import { isUuid } from '@pawl/core'
import { and, asc, eq } from 'drizzle-orm'
import type { Ledger } from '../connect.ts'
import { turns } from '../schema.ts'
import { readsOn } from './database.ts'
import { shorten } from './shorten.ts'

export interface TurnView {
  readonly n: number
  readonly epoch: number
  readonly modelVersion: string
  readonly promptVersion: string
  /** Encoded. */
  readonly decision: string
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costMicros: number
  readonly at: Date
}

const most = 1_000

/** The first thousand; decisions over 64 kB are left out. */
export async function listTurns(ledger: Ledger, runId: string, seq: number): Promise<TurnView[]> {
  if (!isUuid(runId) || !Number.isInteger(seq) || seq < 0 || seq > 2_147_483_647) return []
  return await readsOn(ledger).select({
    n: turns.n, epoch: turns.epoch, modelVersion: turns.modelVersion, promptVersion: turns.promptVersion, decision: shorten<string>(turns.decision, 'decision'),
    inputTokens: turns.inputTokens, outputTokens: turns.outputTokens, costMicros: turns.costMicros, at: turns.at,
  }).from(turns).where(and(eq(turns.runId, runId), eq(turns.itemSeq, seq))).orderBy(asc(turns.n)).limit(most)
}
