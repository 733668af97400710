/**
 * Cases 5 and 8: a call whose adapter ends the process each time, or hangs until a supervisor kills the process. Whatever the tool promises,
 * the attempts are counted when they begin, the item is set aside, and the others are done. What was sent is never sent again without a key.
 */
import { limits } from '@pawl/core'
import { until } from '../../virtual-workers.ts'
import { onFullStage, type CaseStage, type CaseTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome, CaseServices, LiteralCase } from '../literal-case.ts'
import { dieAndBeReplaced } from '../processes.ts'

/** What its tools' code does before it sends: the call of a poisonous subject ends the process, at once or when it has hung so long. */
export class Poison {
  deaths = 0
  stage: CaseStage<CaseTool> | undefined

  constructor(public hangsMs = 0) {}

  readonly before = async ({ subject }: { subject: string }): Promise<void> => {
    if (!this.stage || !subject.startsWith('poison')) return
    this.deaths++
    if (this.hangsMs > 0) await new Promise((resolve) => setTimeout(resolve, this.hangsMs))
    await dieAndBeReplaced(this.stage.workers)
  }
}

export async function playPoisonCall(stage: CaseStage<CaseTool>, poison: Poison, tool: CaseTool, items: number): Promise<CaseOutcome> {
  const findings = new Findings()
  poison.stage = stage
  poison.deaths = 0
  const isAsked = tool === 'opaque'
  const runId = await stage.start(async ({ payload, ctx, tools: { [tool]: call, keyed } }) => {
    if (payload === 7) await call({ subject: `poison ${ctx.run.id}` })
    else await keyed({ subject: `${ctx.run.id} item ${String(payload)}` })
  }, { items: Array.from({ length: items }, (_, n) => ({ key: `${n + 1}`, payload: n + 1 })), policy: { onFailure: 'complete' } })
  const item = await stage.blocked(runId, isAsked ? 'in_doubt' : 'crash_loop', 600_000)
  await until('the others are done', async () => (await stage.items(runId)).filter((one) => one.status === 'done').length === items - 1, 120_000)
  findings.figure('deaths', poison.deaths)
  findings.is('who is set aside', item.key, '7')
  findings.atLeast('deaths', poison.deaths, 1)
  if (!isAsked) findings.is('attempts before it was', item.attempts, limits.crashBudget)
  findings.is('receipts of its call', stage.receipts(`poison ${runId}`), 0)
  findings.is('its call', (await stage.actions(runId)).filter((action) => action.item_seq === item.seq).map((action) => action.status), [isAsked ? 'in_doubt' : 'started'])
  findings.is('effects of the others', stage.effects.receipts().filter((one) => one.applied && one.subject.startsWith(runId)).length, items - 1)
  findings.is('the run, which waits for a person', (await stage.workers.runIs(runId, ['running'])).status, 'running')
  return findings.outcome()
}

async function playFull({ freshDatabase }: CaseServices, items: number, hangsMs: number): Promise<CaseOutcome> {
  const poison = new Poison(hangsMs)
  return await onFullStage(await freshDatabase(), (stage) => playPoisonCall(stage, poison, 'keyed', items), { workers: 1, before: poison.before })
}

export const case05: LiteralCase = { id: 5, title: 'one of a hundred items ends the process whenever its call is made', run: (services) => playFull(services, 100, 0) }
export const case08: LiteralCase = { id: 8, title: 'the process is killed five seconds into every attempt', run: (services) => playFull(services, 8, 5_000) }
