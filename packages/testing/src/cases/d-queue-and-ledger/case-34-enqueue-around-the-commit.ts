/** A doorbell that comes before the commit of its run, after its rollback, or never. */
import { createClient } from '@pawl/client'
import { newId } from '@pawl/core'
import { withTransaction } from '@pawl/ledger'
import { until, type CaseGround } from '../case-ground.ts'
import type { Findings } from '../findings.ts'

export async function case34(ground: CaseGround, found: Findings, { commitDelayMs }: { commitDelayMs: number }): Promise<void> {
  const delivered = new Set<string>()
  ground.hook = (name, { runId }) => void (name === 'before-claim' && delivered.add(runId))
  /** What a service does that rings inside its own transaction. */
  const ringAndWait = async (runId: string): Promise<void> => {
    await ground.queue.ring([{ ledgerId: ground.ledgerId, runId, seq: 1, generation: 1, channel: { kind: 'agent', agent: 'case', version: '1' }, first: false, title: 'too early' }])
    await until('the early doorbell is delivered', () => delivered.has(runId))
  }
  let early = ''
  await withTransaction(ground.ledger, { timeoutMs: commitDelayMs + 30_000 }, async (tx) => {
    early = await ground.start({ run: async ({ tools }) => { await tools.opaque({ subject: 'early' }) } }, { tx })
    await ringAndWait(early)
    await new Promise((resolve) => setTimeout(resolve, commitDelayMs))
    found.is('sent before the commit', ground.effects.receipts({ subject: 'early' }).length, 0)
  })
  await ground.runIs(early, ['completed'])
  found.is('rung before the commit: sent', ground.effects.receipts({ subject: 'early' }).length, 1)

  let gone = ''
  await withTransaction(ground.ledger, { timeoutMs: 30_000 }, async (tx) => {
    gone = await ground.start({ run: async ({ tools }) => { await tools.opaque({ subject: 'rolled back' }) } }, { tx })
    throw new Error('the caller changes its mind')
  }).catch(() => {})
  await ringAndWait(gone)

  const silent = createClient({ ledger: ground.ledger, agents: [ground.agent] })
  const scriptId = newId()
  await ground.start({ run: async ({ tools }) => { await tools.opaque({ subject: 'never rung' }) } }, { scriptId, items: [] })
  const { id: unrung } = await silent.startRun(ground.agent, { script: scriptId }, { items: [{ key: 'only', payload: null }] })
  const begun = performance.now()
  await ground.runIs(unrung, ['completed'])
  found.is('died before the enqueue: sent', ground.effects.receipts({ subject: 'never rung' }).length, 1)
  found.atMost('ms until the sweep rang', Math.round(performance.now() - begun), 10_000)
  found.is('rolled back after the enqueue: sent', ground.effects.receipts({ subject: 'rolled back' }).length, 0)
}
