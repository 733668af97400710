/**
 * Calls that are held back to the end of the run: kept by the item, sent by the finalizer in the order in which they were made. All that need a
 * person's yes are asked for first, and nothing is sent before each has an answer. One that was refused with a no is left out.
 */
import { decode } from '@pawl/core'
import { listStaged, type ActionRow } from '@pawl/ledger'
import { needsApproval, request, waitForYes } from './approval.ts'
import { digestOf, type Attempt } from './attempt.ts'
import { sendKept } from './bracket.ts'
import type { Call } from './call.ts'
import { parked } from './parked.ts'
import { toolByName } from './tool-by-name.ts'

/** The finalizer's first work. Throws what the sends throw. */
export async function sendStaged(attempt: Attempt): Promise<void> {
  const leave = attempt.enter()
  try {
    const rows = await listStaged(attempt.parts.ledger, attempt.run.id)
    const calls = rows.map((row) => { attempt.put(row); return { row, call: callOf(attempt, row) } })
    const waiting = await askForAll(attempt, calls)
    if (waiting !== undefined) return await waitForYes(attempt, waiting)
    for (const { call } of calls) {
      if (attempt.ending) return
      if (attempt.journal.get(call.key)?.status !== 'rejected') await sendKept(attempt, call)
    }
  } finally {
    leave()
  }
}

/** One of those nobody has answered yet; undefined: nothing is waited for. */
async function askForAll(attempt: Attempt, calls: readonly { row: ActionRow; call: Call }[]): Promise<number | undefined> {
  let waiting: number | undefined
  for (const { row, call } of calls) {
    // A refused one rests on the yes it has used; where that covers it no longer, its send asks.
    if (row.status === 'failed' || !(row.approval_id !== null || needsApproval(attempt, call))) continue
    const { outcome, action, approval } = await request(attempt, call)
    if (outcome === 'exists' && action) attempt.put(action)
    if (outcome !== 'waiting' || !approval) continue
    attempt.approvals.add(approval.id)
    waiting = approval.id
  }
  return waiting
}

/** The recorded call, which must still be what was made and what this build's tool takes. */
function callOf(attempt: Attempt, row: ActionRow): Call {
  const refuse = (why: string) => parked(attempt, { kind: 'blocked', reason: 'conflict', detail: { action: row.id, tool: row.tool, key: row.key, why } })
  const tool = toolByName(attempt.agent, row.tool, row.tool_version)
  if (!tool) throw refuse(`tool "${row.tool}" is not registered in this build`)
  const input = decode(row.args)
  if (digestOf(input) !== row.args_digest) throw refuse('its recorded arguments are not those it was made with')
  if (tool.version !== row.tool_version && !tool.inputSchema.safeParse(input).success) throw refuse(`version ${tool.version} of the tool does not take what version ${row.tool_version} was given`)
  return { tool, input, args: row.args, argsDigest: row.args_digest, key: row.key, undoes: null, ...(row.turn === null ? {} : { turn: row.turn }) }
}
