/** Many runs of items that are done at once: each closes exactly once, after its last item. */
import { seeds, until, type CaseGround } from '../case-ground.ts'
import type { Findings } from '../findings.ts'

const atOnce = 10

export async function case84(ground: CaseGround, found: Findings, { runs, items }: { runs: number; items: number }): Promise<void> {
  const finalized: string[] = []
  const tallies = new Set<string>()
  const script = {
    run: () => Promise.resolve(),
    finalize: ({ run }: { run: { id: string; tally: { done: number; total: number } } }) => {
      finalized.push(run.id)
      tallies.add(`${run.tally.done} of ${run.tally.total}`)
      return Promise.resolve()
    },
  }
  const ids: string[] = []
  while (ids.length < runs) ids.push(...await Promise.all(Array.from({ length: Math.min(atOnce, runs - ids.length) }, () => ground.start(script, { items: seeds(items) }))))
  await until('every run is closed', async () => (await ground.rows(`select 1 from pawl.runs where status = 'completed'`)).length === runs, 600_000)
  found.is('closed', new Set(finalized).size, ids.length)
  found.is('finalized more than once', finalized.length - new Set(finalized).size, 0)
  found.is('what finalizers saw', [...tallies], [`${items} of ${items}`])
  found.is('endings', (await ground.rows(`select 1 from pawl.events where kind = 'run.ended'`)).length, runs)
  found.is('items not done', (await ground.rows(`select 1 from pawl.items where status <> 'done'`)).length, 0)
}
