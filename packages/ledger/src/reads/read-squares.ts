/** A run as a picture: one letter per work item, in order. Made by the server in one pass over the run's rows; 100,000 of them are one text of 100 kB, and mostly runs of one letter. */
import { isUuid } from '@pawl/core'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'

export interface SquaresView {
  readonly total: number
  /** `12d3p`: number and letter. p pending, a in progress, d done, f failed, c cancelled, u undone, b blocked. */
  readonly states: string
  /** The seqs of these items, as [first, how many]. */
  readonly seqs: readonly [number, number][]
}

const facts = z.object({ letters: z.string().nullable(), first: z.number().nullable(), last: z.number().nullable() })
const stretch = z.object({ first: z.number(), n: z.number() })

export async function readSquares(ledger: Ledger, runId: string): Promise<SquaresView> {
  if (!isUuid(runId)) return { total: 0, states: '', seqs: [] }
  const [row] = await ledger.query(`select string_agg(case status when 'in_progress' then 'a' when 'compensated' then 'u' else left(status, 1) end, '' order by seq) as letters,
    min(seq) as first, max(seq) as last from pawl.items where run_id = $1 and kind = 'work'`, [runId], { retryForMs: 3_000 })
  const { letters, first, last } = facts.parse(row)
  if (letters === null || first === null || last === null) return { total: 0, states: '', seqs: [] }
  const total = letters.length
  return { total, states: letters.replaceAll(/(.)\1*/g, (same) => `${same.length}${same.charAt(0)}`), seqs: last - first + 1 === total ? [[first, total]] : await stretches(ledger, runId) }
}

/** Where other items (a split that brought some later, for one) have seqs in between. */
async function stretches(ledger: Ledger, runId: string): Promise<[number, number][]> {
  const rows = await ledger.query(`select min(seq) as first, count(*)::integer as n from (select seq, seq - row_number() over (order by seq) as place from pawl.items where run_id = $1 and kind = 'work') x
    group by place order by 1`, [runId], { retryForMs: 3_000 })
  return rows.map((row) => stretch.parse(row)).map(({ first, n }) => [first, n])
}
