import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import { actionRow, runRow, type ActionRow, type RunRow } from '../rows.ts'

const found = z.object({ action: actionRow })

/** Unsettled actions of a run, oldest first: what a compensate or settle item has to find out about. Also those recorded failed before the proof came that they were applied. */
export async function listUnsettled(ledger: Ledger, runId: string): Promise<ActionRow[]> {
  const rows = await ledger.query(`select row_to_json(a.*) as action from pawl.actions a where a.run_id = $1
    and (a.status in ('started', 'in_doubt') or (a.status = 'failed' and a.applied_evidence is not null)) order by a.order_no`, [runId], { retryForMs: 60_000 })
  return rows.map((row) => found.parse(row).action)
}

/** The next write to undo: the newest committed one that has an undo and is not undone, nor its undo abandoned (that is residue). Derived, never stored, so a crash between two undos loses nothing. */
export async function nextToUndo(ledger: Ledger, runId: string): Promise<ActionRow | undefined> {
  const rows = await ledger.query(`select row_to_json(a.*) as action from pawl.actions a where a.run_id = $1 and a.status = 'committed' and a.undoes is null
    and a.effect <> 'read' and a.undo is not null
    and not exists (select 1 from pawl.actions u where u.run_id = a.run_id and u.undoes = a.id and u.status = 'abandoned') order by a.order_no desc limit 1`, [runId], { retryForMs: 60_000 })
  return rows[0] === undefined ? undefined : found.parse(rows[0]).action
}

const bare = z.object({ id: z.coerce.number(), order_no: z.coerce.number(), key: z.string(), tool: z.string(), tool_version: z.string() })
export type BareWrite = z.infer<typeof bare>
const pageOfBare = 5_000

/** Committed writes without an undo, by number: their names only, for their values may take gigabytes. Left out are those whose undo a person abandoned, which are residue. */
export async function* listWithoutUndo(ledger: Ledger, runId: string): AsyncGenerator<BareWrite, void, undefined> {
  for (let after = 0; ;) {
    const rows = await ledger.query(`select a.id, a.order_no, a.key, a.tool, a.tool_version from pawl.actions a where a.run_id = $1 and a.id > $2::bigint and a.status = 'committed'
      and a.undo is null and a.undoes is null and a.effect <> 'read' and a.result is not null
      and not exists (select 1 from pawl.actions u where u.run_id = a.run_id and u.undoes = a.id and u.status = 'abandoned') order by a.id limit ${pageOfBare}`, [runId, after], { retryForMs: 60_000 })
    const page = rows.map((row) => bare.parse(row))
    yield* page
    const last = page.at(-1)
    if (last === undefined) return
    after = last.id
  }
}

/** One action as it stands now. */
export async function readAction(ledger: Ledger, runId: string, key: string): Promise<ActionRow | undefined> {
  const rows = await ledger.query('select row_to_json(a.*) as action from pawl.actions a where a.run_id = $1 and a.key = $2', [runId, key], { retryForMs: 60_000 })
  return rows[0] === undefined ? undefined : found.parse(rows[0]).action
}

const tallyRow = z.object({ done: z.number(), failed: z.number(), cancelled: z.number(), total: z.number() })

/** Work items of a run by how they ended. */
export async function tallyRun(ledger: Ledger, runId: string): Promise<z.infer<typeof tallyRow>> {
  const [row] = await ledger.query(`select count(*) filter (where i.status = 'done')::integer as done, count(*) filter (where i.status = 'failed')::integer as failed,
    count(*) filter (where i.status = 'cancelled')::integer as cancelled, count(*)::integer as total
    from pawl.items i where i.run_id = $1 and i.kind = 'work'`, [runId], { retryForMs: 60_000 })
  return tallyRow.parse(row)
}

/** A run as the harness needs it. */
export async function readRun(ledger: Ledger, runId: string): Promise<RunRow | undefined> {
  const rows = await ledger.query('select row_to_json(r.*) as run from pawl.runs r where r.id = $1', [runId], { retryForMs: 5_000 })
  return rows[0] === undefined ? undefined : z.object({ run: runRow }).parse(rows[0]).run
}
