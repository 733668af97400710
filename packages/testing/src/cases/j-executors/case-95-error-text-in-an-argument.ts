/** An agent hands the text of a caught error, stack and all, to its next call, and dies: on replay the error is the same word for word, or nothing is sent. */
import type { CaseGround } from '../case-ground.ts'
import type { Findings } from '../findings.ts'

export async function case95(ground: CaseGround, found: Findings): Promise<void> {
  for (const what of ['message', 'stack'] as const) {
    ground.effects.program(`refused ${what}`, Array.from({ length: 20 }, () => ({ refuse: 400 })))
    const seen: string[] = []
    let died = false
    ground.hook = async (name, { tool }) => {
      if (name !== 'before-finish' || died) return
      died = true
      throw new Error(`an attempt breaks off at the end (${String(tool)})`)
    }
    const runId = await ground.start({
      run: async ({ tools }) => {
        const said = await tools.meant({ subject: `refused ${what}` }).then(() => 'nothing', (error: unknown) => (error instanceof Error ? (error[what] ?? '') : ''))
        seen.push(said)
        await tools.meant({ subject: `told ${what}`, note: said })
      },
    })
    await ground.runIs(runId, ['completed'])
    found.atLeast(`${what}: attempts`, seen.length, 2)
    found.is(`${what}: different texts`, new Set(seen).size, 1)
    found.is(`${what}: receipts of the refused call after it was acted on`, ground.effects.receipts({ subject: `refused ${what}` }).length, 1)
    found.is(`${what}: receipts of the call that was told`, ground.effects.receipts({ subject: `told ${what}` }).length, 1)
  }
}
