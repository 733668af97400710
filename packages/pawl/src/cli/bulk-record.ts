/**
 * pause, resume and cancel of many runs are a record in the ledger, carried out run by run by whoever lives: cut off in the middle, it goes on without
 * this command. Here it is begun and watched.
 */
import { randomUUID } from 'node:crypto'
import { waitMs } from '@pawl/core'
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
  bar.start(ids.length)
  try {
    for (let i = 0; i < ids.length; i += mostRuns) {
      const { id } = await client.bulk({ verb, runIds: ids.slice(i, i + mostRuns), reason }, { idempotencyKey: randomUUID() })
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
          const isDone = outcome === 'done'
          entries.set(runId, { runId, outcome: isDone ? 'done' : 'refused', status: isDone ? detail : null, detail: isDone ? '' : (detail ?? '') })
        }
        cursor = page.cursor
      }
    }
  } finally {
    bar.stop()
  }
  return reportBulk(out, verb, ids, entries, { dryRun: false })
}
