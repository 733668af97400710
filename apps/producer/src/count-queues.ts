/** The queue's own counts, for pages. They are no evidence of anything, so a store that does not answer soon holds up no page. */
import type { QueueLoad } from '@pawl/client'
import { waitMs } from '@pawl/core'
import type { Queue } from '@pawl/queue'

const patienceMs = 1_500

export async function countQueues(queue: Queue): Promise<QueueLoad[]> {
  const counting = queue.count()
  // Whoever gave up on it hears no more of it.
  counting.catch(() => undefined)
  const over = new AbortController()
  const counts = await Promise.race([counting, waitMs(patienceMs, over.signal)]).finally(() => over.abort())
  if (counts === undefined) throw new Error(`the queue did not count its jobs within ${patienceMs} ms`)
  return counts.map(({ channel, ...count }) => ({ ...count, agent: channel?.kind === 'agent' ? channel.agent : null, version: channel?.kind === 'agent' ? channel.version : null }))
}
