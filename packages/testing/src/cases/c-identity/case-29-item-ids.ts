/** Case 29: whatever an item is called, it runs, or its start is refused. */
import { createClient } from '@pawl/client'
import type { CaseStage, CaseTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome } from '../literal-case.ts'

export const oddItemKeys: readonly string[] = ['42', '0', '0123', 'a:b', 'a:b:c', ':', 'k'.repeat(300), '🔑 ключ 日本', '../x', 'Twin', 'twin', ' ', 'a\nb', '%2F', '$encoded', '__proto__']

export async function playItemKeys(stage: CaseStage<CaseTool>, name: string): Promise<CaseOutcome> {
  const findings = new Findings()
  const client = createClient({ ledger: stage.workers.ledger, agents: [stage.agent] })
  const code = `item keys, ${name}`
  stage.replace(code, async ({ payload, tools }) => { await tools.keyed({ subject: `${name} ${String(payload)}` }) })
  const { id } = await client.startRun(stage.agent, { code }, { items: oddItemKeys.map((key, n) => ({ key, payload: n })) })
  stage.workers.touch(id)
  await stage.workers.runIs(id)
  const items = (await stage.items(id)).filter((item) => item.kind === 'work')
  findings.is('items', items.map((item) => item.key), oddItemKeys)
  findings.is('items done', items.filter((item) => item.status === 'done').length, oddItemKeys.length)
  findings.is('items with one effect', oddItemKeys.filter((_, n) => stage.applied(`${name} ${n}`) === 1).length, oddItemKeys.length)
  return findings.outcome()
}
