/** The same run submitted again while it is half done, and when it is done. */
import { seeds, until, type CaseGround } from '../case-ground.ts'
import type { Findings } from '../findings.ts'

export async function case41(ground: CaseGround, found: Findings, { items }: { items: number }): Promise<void> {
  let open: () => void = () => {}
  const gate = new Promise<void>((resolve) => { open = resolve })
  const scriptId = 'the same request'
  const submit = () => ground.start({
    run: async ({ payload, tools }) => {
      if ((payload as number) >= items / 2) await gate
      await tools.opaque({ subject: `again ${String(payload)}` })
    },
  }, { scriptId, items: seeds(items), idempotencyKey: 'submitted' })
  const first = await submit()
  await until('half of it is done', async () => (await ground.client.getRun(first)).tally.done >= Math.floor(items / 2))
  const ids = new Set([first, await submit(), await submit()])
  open()
  await ground.runIs(first, ['completed'])
  ids.add(await submit())
  found.is('runs', ids.size, 1)
  found.is('runs under the key', (await ground.rows(`select 1 from pawl.run_keys where key = 'submitted'`)).length, 1)
  found.is('items of work', (await ground.rows(`select 1 from pawl.items where run_id = $1 and kind = 'work'`, [first])).length, items)
  found.is('sent', ground.effects.receipts().filter((receipt) => receipt.subject.startsWith('again ')).length, items)
  found.is('items claimed more than once', (await ground.rows('select 1 from pawl.items where run_id = $1 and attempts > 1', [first])).length, 0)
  found.is('ended', await ground.endings(first), 1)
}
