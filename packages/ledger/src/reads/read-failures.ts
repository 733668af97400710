/**
 * Why items of a run failed or wait, grouped: 4,000 failures are mostly three. What differs from item to item (numbers, ids) is blanked, so that one cause is one group.
 * The server groups by the blanked text as it is kept; what the texts say is read here.
 */
import { BLOCKED_REASONS, isUuid } from '@pawl/core'
import { z } from 'zod'
import type { Ledger } from '../connect.ts'

export interface FailureGroup {
  readonly status: 'failed' | 'blocked'
  readonly reason: string
  readonly message: string
  readonly count: number
  /** The first five. */
  readonly seqs: number[]
}

const mostGroups = 100
/** Of texts that all differ in words: more than a person reads, and what is beyond is counted in none. */
const mostTexts = 2_000
/** `#` for ids and numbers. In `[0-9a-f]` runs a digit must be among them: "deadbeef" is a word, "dead1eef" an id. */
const varying = String.raw`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|\y[0-9a-fA-F]*[0-9][0-9a-fA-F]{7,}\y|[0-9]+`

const row = z.object({ status: z.enum(['failed', 'blocked']), reason: z.enum(BLOCKED_REASONS).nullable(), sample: z.string().nullable(), n: z.number(), seqs: z.array(z.number()) })
const told = z.object({ name: z.string().optional(), message: z.string().optional() })

export async function readFailures(ledger: Ledger, runId: string): Promise<FailureGroup[]> {
  if (!isUuid(runId)) return []
  const rows = await ledger.query(`select status, blocked_reason as reason, min(left(text, 4000)) as sample, count(*)::integer as n, to_json((array_agg(seq order by seq))[1:5]) as seqs
    from (select seq, status, blocked_reason, case status when 'failed' then error else blocked_detail end as text from pawl.items where run_id = $1 and status in ('failed', 'blocked')) i
    group by status, blocked_reason, regexp_replace(left(text, 400), $2, '#', 'g') order by count(*) desc limit $3`, [runId, varying, mostTexts], { retryForMs: 3_000 })
  const groups = new Map<string, FailureGroup>()
  for (const { status, reason, sample, n, seqs } of rows.map((each) => row.parse(each))) {
    const { name = 'Error', message = '' } = readText(sample)
    const group = { status, reason: reason ?? name, message: blank(message) }
    const id = JSON.stringify(group)
    const before = groups.get(id)
    groups.set(id, { ...group, count: n + (before?.count ?? 0), seqs: [...seqs, ...(before?.seqs ?? [])].toSorted((a, b) => a - b).slice(0, 5) })
  }
  return [...groups.values()].toSorted((a, b) => b.count - a.count || (a.seqs[0] ?? 0) - (b.seqs[0] ?? 0)).slice(0, mostGroups)
}

const pattern = new RegExp(varying.replaceAll(String.raw`\y`, String.raw`\b`), 'g')
const blank = (text: string): string => text.slice(0, 300).replaceAll(pattern, '#')

/** An error record, or a detail that has a message; other text stands for itself. A text cut at its end is no JSON any more. */
function readText(text: string | null): z.infer<typeof told> {
  if (text === null) return {}
  try {
    return told.parse(JSON.parse(text))
  } catch {
    const name = /^\{"name":"([^"\\]*)"/.exec(text)?.[1]
    const message = /"message":"((?:[^"\\]|\\.)*)/.exec(text)?.[1]
    return message === undefined ? { message: text } : { ...(name === undefined ? {} : { name }), message }
  }
}
