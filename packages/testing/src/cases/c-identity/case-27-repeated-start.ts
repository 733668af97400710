/** Case 27: the sender of a big start dies half-way, and the request is repeated. One run, every item once, every effect once. */
import { createClient } from '@pawl/client'
import { Ledger } from '@pawl/ledger'
import { startFaultProxy } from '../../fault-proxy.ts'
import { until } from '../../virtual-workers.ts'
import { onFullStage, type CaseStage, type CaseTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome, LiteralCase } from '../literal-case.ts'

export async function playBrokenStart(stage: CaseStage<CaseTool>, url: string, items: number): Promise<CaseOutcome> {
  const findings = new Findings()
  const idempotencyKey = `start of ${items}`
  const proxy = await startFaultProxy(url)
  const ledgerOfTheDead = new Ledger({ url: proxy.url, connections: 1 })
  const client = createClient({ ledger: stage.workers.ledger, agents: [stage.agent], streamAliveMs: 300 })
  const subjects = Array.from({ length: items }, (_, n) => `${items}: ${n}`)
  const seeds = subjects.map((subject) => ({ key: subject, payload: subject }))
  stage.replace('bulk', async ({ payload, tools }) => { await tools.keyed({ subject: String(payload) }) })
  const header = { agent: 'case', input: { code: 'bulk' } }
  let isHalfThrough = false
  async function* dies(): AsyncGenerator<{ key: string; payload: string }> {
    yield* seeds.slice(0, items / 2)
    isHalfThrough = true
    await new Promise<never>(() => {})
  }
  void createClient({ ledger: ledgerOfTheDead, agents: [stage.agent] }).startRunFromStream(header, dies(), { idempotencyKey }).catch(() => {})
  await until('half of it is sent', () => isHalfThrough)
  // Nothing of the dead sender is heard any more, its beats included.
  proxy.shut()
  let runId: string | undefined
  // Refused while the first sender might be alive still, as a client that retries finds out.
  await until('the repeated start is taken', async () => {
    const started = await client.startRunFromStream(header, seeds, { idempotencyKey }).catch(() => undefined)
    runId = started?.id
    return runId !== undefined
  })
  const again = await client.startRunFromStream(header, seeds, { idempotencyKey })
  stage.workers.touch(runId ?? '')
  const run = await stage.workers.runIs(runId ?? '', undefined, 240_000)
  const [runs] = await stage.rows<{ n: number }>('select count(*)::integer as n from pawl.run_keys where key = $1', [idempotencyKey])
  findings.figure('items', items)
  findings.is('the run', run.status, 'completed')
  findings.is('runs under the key', runs?.n, 1)
  findings.is('a third request is the same run', again, { id: runId, isNew: false })
  findings.is('items', (await stage.items(run.id)).filter((item) => item.kind === 'work').length, items)
  findings.is('items with one effect', subjects.filter((subject) => stage.applied(subject) === 1).length, items)
  await ledgerOfTheDead.close()
  await proxy.close()
  return findings.outcome()
}

export const case27: LiteralCase = {
  id: 27, title: 'a start of 500 items breaks off half-way and is repeated',
  async run({ freshDatabase }) {
    const url = await freshDatabase()
    return await onFullStage(url, (stage) => playBrokenStart(stage, url, 500))
  },
}
