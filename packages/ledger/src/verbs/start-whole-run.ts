/**
 * A run with its items, started as a whole in somebody's transaction: ours, or the caller's own on the same database. Nobody sees any of it
 * before the commit, so there is no stream to continue; a concurrent start with the same key waits for the commit and then finds the run.
 * Every parameter goes as text and is cast by the server: drivers differ in how they encode JSON and arrays.
 */
import { z } from 'zod'
import { arrayOf } from './run-verb.ts'
import type { NewRun } from './runs.ts'

/** The query function of an open transaction; `pg`'s client has this shape. */
export interface OpenTransaction {
  query(text: string, values: (string | number | boolean | null)[]): Promise<{ rows: readonly unknown[] }>
}

const started = z.object({ outcome: z.enum(['created', 'exists']), run_id: z.string(), digest: z.string().nullable(), status: z.string().nullable() })
export type WholeStart = { readonly outcome: 'created' | 'exists' | 'duplicate'; readonly runId: string; readonly digest: string | null; readonly duplicates: readonly string[] }

const perChunk = 1_000

/** `items` null: the agent's split brings them. `duplicate`: the caller must roll back. */
export async function startWholeRun(tx: OpenTransaction, run: NewRun, items: readonly { key: string; payload: string }[] | null): Promise<WholeStart> {
  const start = started.parse(await first(tx, `select * from pawl.start_run($1::text::uuid, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text,
    $9::text::integer, $10::text, $11::text, $12::text::jsonb, $13::text::jsonb, $14::text, $15::text::boolean, $16::text::jsonb, $17::text)`, [
    run.id, run.namespace, run.key, run.digest, run.agent, run.agentVersion, run.modelVersion, run.promptVersion, String(run.schemaVersion), run.lockDigest,
    run.input, JSON.stringify(run.labels), JSON.stringify(run.policy), run.createdBy, items === null ? 'true' : 'false', run.tools ? JSON.stringify(run.tools) : null, run.traceParent ?? null,
  ]))
  const answer = { outcome: start.outcome, runId: start.run_id, digest: start.digest, duplicates: [] }
  if (start.outcome === 'exists' || items === null) return answer
  const stream = z.object({ no: z.number() }).parse(await first(tx, 'select pawl.open_stream($1::text::uuid, 0) as no', [run.id])).no
  for (let i = 0; i < items.length; i += perChunk) {
    const chunk = items.slice(i, i + perChunk)
    const added = z.object({ outcome: z.string(), duplicates: z.array(z.string()).nullable() }).parse(await first(tx,
      'select outcome, to_json(duplicates) as duplicates from pawl.append_items($1::text::uuid, $2::text::integer, $3::text::text[], $4::text::text[])',
      [run.id, String(stream), arrayOf(chunk.map((item) => item.key)), arrayOf(chunk.map((item) => item.payload))]))
    if (added.outcome === 'duplicate') return { ...answer, outcome: 'duplicate', duplicates: added.duplicates ?? [] }
    if (added.outcome !== 'added') throw new Error(`a run that is not committed yet answered ${added.outcome} to its own items`)
  }
  await first(tx, 'select outcome from pawl.seal_run($1::text::uuid, $2::text::integer, $3::text)', [run.id, String(stream), run.digest])
  return answer
}

async function first(tx: OpenTransaction, text: string, values: (string | null)[]): Promise<unknown> {
  return (await tx.query(text, values)).rows[0]
}
