/**
 * pause, resume and cancel of many runs are a record in the ledger, carried out run by run by whoever lives: cut off in the middle, it goes on without
 * this command. Here it is begun and watched.
 */
import { isUuid, newId, waitMs } from '@pawl/core'
import type { PawlClient } from '@pawl/client'
import { reportBulk, type BulkEntry } from './bulk.ts'
import type { Output } from './output.ts'

export const recorded = ['pause', 'resume', 'cancel'] as const
export type RecordedVerb = (typeof recorded)[number]

const mostRuns = 1_000
const lookEveryMs = 200

export async function bulkOnMany(client: PawlClient, out: Output, verb: RecordedVerb, ids: readonly string[], reason: string | undefined): Promise<number> {
  const bar = out.bar(`${verb} {bar} {percentage}%  {value}/{total} runs`)
  const entries = new Map<string, BulkEntry>()
  // One of them would have the whole record refused.
  for (const runId of ids) if (!isUuid(runId)) entries.set(runId, { runId, outcome: 'refused', status: null, detail: 'There is no run of that id: ids are as "pawl run list" shows them.' })
  const runIds = ids.filter(isUuid)
  let end: unknown
  bar.start(ids.length)
  bar.step(entries.size)
  try {
    for (let i = 0; i < runIds.length; i += mostRuns) {
      const { id } = await client.bulk({ verb, runIds: runIds.slice(i, i + mostRuns), reason }, { idempotencyKey: newId() })
      let seen = 0
      for (;;) {
        const { total, done, failed } = await client.bulkStatus(id, { limit: 1 })
        bar.step(done + failed - seen)
        seen = done + failed
        if (seen >= total) break
        await waitMs(lookEveryMs)
      }
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page: Awaited<ReturnType<PawlClient['bulkStatus']>> = await client.bulkStatus(id, { limit: mostRuns, cursor })
        for (const { runId, outcome, detail } of page.entries) {
          if (outcome === 'open') continue
          const isDone = outcome === 'done'
          entries.set(runId, { runId, outcome: isDone ? 'done' : 'refused', status: isDone ? detail : null, detail: isDone ? '' : (detail ?? '') })
        }
        cursor = page.cursor
      }
    }
  } catch (error) {
    end = error
  }
  bar.stop()
  return reportBulk(out, verb, ids, entries, { dryRun: false, end })
}
