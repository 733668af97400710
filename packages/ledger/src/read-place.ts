/** Reads items, and their actions and turns under given keys and numbers, afresh: what decides when a flush's answer was lost or lacks a row. Reads only, locks nothing. */
import { z } from 'zod'
import type { Ledger } from './connect.ts'
import { placeOf, type ItemRef } from './flush.ts'
import { actionRow, turnRow, type ActionRow, type TurnRow } from './rows.ts'

export interface Place {
  readonly epoch: number
  readonly status: string
  /** Has a started, doubtful or waiting action. */
  readonly hasOpen: boolean
  readonly actions: ReadonlyMap<string, ActionRow>
  readonly turns: ReadonlyMap<number, TurnRow>
}

const placeRow = z.object({
  run: z.string(), seq: z.number(), want: z.number(), epoch: z.number(), status: z.string(), open: z.boolean(),
  actions: z.array(actionRow).nullable(), turns: z.array(turnRow).nullable(),
})

/** By `placeOf(item, epoch)` of the question. An item that does not exist is absent. */
export async function readPlace(ledger: Ledger, places: readonly { item: ItemRef; epoch: number; keys: readonly string[]; turns: readonly number[] }[]): Promise<Map<string, Place>> {
  const rows = await ledger.query(`
    select i.run_id as run, i.seq, w.epoch as want, i.epoch, i.status,
      exists (select 1 from pawl.actions o where o.run_id = i.run_id and o.item_seq = i.seq and o.status in ('started', 'in_doubt', 'awaiting_approval')) as open,
      (select json_agg(row_to_json(a.*)) from pawl.actions a where a.run_id = i.run_id and a.key in (select json_array_elements_text(w.keys))) as actions,
      (select json_agg(row_to_json(t.*)) from pawl.turns t where t.run_id = i.run_id and t.item_seq = i.seq and t.n in (select json_array_elements_text(w.turns)::integer)) as turns
    from json_to_recordset($1::json) as w(run uuid, seq integer, epoch integer, keys json, turns json) join pawl.items i on i.run_id = w.run and i.seq = w.seq`,
  [JSON.stringify(places.map(({ item, epoch, keys, turns }) => ({ run: item.runId, seq: item.seq, epoch, keys, turns })))])
  return new Map(rows.map((raw) => {
    const row = placeRow.parse(raw)
    return [placeOf({ runId: row.run, seq: row.seq }, row.want), {
      epoch: row.epoch, status: row.status, hasOpen: row.open, actions: new Map(row.actions?.map((action) => [action.key, action])),
      turns: new Map(row.turns?.map((turn) => [turn.n, turn])),
    }]
  }))
}
