/** Failed items by reason: ten thousand failures are mostly three reasons. */
import type { Item, PawlClient } from '@pawl/client'
import type { Failures, FailureGroup } from './pages/run.ts'

const most = 1_000

export async function groupFailures(pawl: PawlClient, runId: string): Promise<Failures> {
  const { entries, cursor } = await pawl.listItems(runId, { status: 'failed', limit: most })
  const groups = new Map<string, FailureGroup>()
  for (const item of entries) {
    const reason = reasonOf(item)
    const known = groups.get(reason)
    groups.set(reason, { reason, count: (known?.count ?? 0) + 1, seq: known?.seq ?? item.seq })
  }
  return { groups: [...groups.values()].toSorted((a, b) => b.count - a.count).slice(0, 30), isCut: cursor !== null }
}

/** The same failure with another number, id or quoted name is the same reason. */
function reasonOf({ error }: Item): string {
  if (error === null) return 'no reason recorded'
  const message = error.message.slice(0, 300).replace(/(["'`])(?:(?!\1).){1,120}\1/g, '$1…$1').replace(/[0-9a-f]{8}-[0-9a-f-]{27}/gi, '…').replace(/\d+/g, 'N')
  return `${error.code ?? error.name}: ${message}`
}
