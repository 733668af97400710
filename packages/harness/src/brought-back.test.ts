/** The ledger loses the send of a call that its item did not make alone, and the worker that made it brings it back: somebody settles it, and it is made once. */
import { newRunId } from '@pawl/core'
import { clearLedger, readGap } from '@pawl/ledger'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { auditLedger } from '../../ledger/src/audit/audit-ledger.ts'
import { Scripts } from './scripted.testsuite.ts'
import { effectTool, until, World, type EffectTool, type ToolClass } from './world.testsuite.ts'

vi.setConfig({ testTimeout: 60_000 })

type Tools = Record<ToolClass, EffectTool> & Record<'meant' | 'late', EffectTool>
let world: World
let scripts: Scripts<Tools>
// A world each: a loss holds everybody.
beforeEach(async () => {
  world = await World.open((tools, effects) => {
    scripts = new Scripts<Tools>({
      ...tools,
      meant: effectTool(effects, { name: 'meant', via: 'opaque', effect: 'non-idempotent', key: ({ subject }) => [subject], retry: { attempts: 1 } }),
      late: effectTool(effects, { name: 'late', via: 'opaque', effect: 'non-idempotent', key: ({ subject }) => [subject], stage: true }),
    })
    return [scripts.agent]
  })
})
afterEach(() => world.close())

const receipts = (subject: string): number => world.effects.receipts({ subject }).length
const handedBack = (id: string, seq: number): string =>
  `update pawl.items set status = 'pending', worker_id = null, lease_until = null, dispatched_at = null, barren_attempts = 0 where run_id = '${id}' and seq = ${seq}`

/** In one transaction the server has less, and a worker has said so; they bring back what they remember, and a person looks. */
async function loses(id: string, ...older: string[]): Promise<void> {
  await world.rows([...older, `select pawl.note_loss(written_in, 'restored', '[]') from pawl.ledger`].join('; '))
  await until('the call is brought back', async () => (await world.rows(`select 1 from pawl.events where run_id = $1 and kind = 'action.brought_back'`, [id])).length > 0)
  expect(await clearLedger(world.workers.ledger, 'ann', (await readGap(world.workers.ledger)).digest)).toBe(true)
  world.workers.touch(id)
}

async function sound(id: string, status: string): Promise<void> {
  expect(await world.workers.runIs(id)).toMatchObject({ status })
  expect((await auditLedger(world.workers.ledger, { runId: id })).violations).toEqual([])
}

for (const lost of ['the send', 'the finalizer with the send'] as const) {
  test(`a held-back call, where the ledger lost ${lost}: a person is asked before the run ends, and it is made once`, async () => {
    const id = newRunId()
    const fault = world.workers.fault({ runId: id, at: 'after-answer', tool: 'late', does: 'freeze' })
    await scripts.start(world, { async run({ tools }) { await tools.late({ subject: 'held back' }) } }, { id })
    await fault.struck
    await loses(id, `update pawl.actions set status = 'staged', item_seq = 1, sends = 0, attempt = 0, token = null, epoch = 1 where run_id = '${id}'`, ...(lost === 'the send' ? [handedBack(id, 2)]
      : [`delete from pawl.items where run_id = '${id}' and kind = 'finalize'`, `update pawl.runs set status = 'running' where id = '${id}'`]))
    await world.answer(id, 'happened', '{"ref":"seen"}')
    await sound(id, 'completed')
    expect(receipts('held back')).toBe(1)
    fault.thaw()
  })
}

test('a key taken over from an item that failed: the one that took it over settles the call, and is not asleep for ever', async () => {
  const id = newRunId()
  world.effects.program('both', [{ refuse: 400 }])
  let fail: () => void = () => {}
  const failed = new Promise<void>((resolve) => { fail = resolve })
  const fault = world.workers.fault({ runId: id, at: 'after-answer', tool: 'meant', seq: 2, does: 'freeze' })
  await scripts.start(world, { async run({ tools, payload }) {
    if (payload === 'second') await failed
    await tools.meant({ subject: 'both' })
  } }, { id, items: [{ key: 'a', payload: 'first' }, { key: 'b', payload: 'second' }], policy: { maxFailures: 1, onFailure: 'complete' } })
  await until('the first has failed', async () => (await world.item(id)).status === 'failed')
  fail()
  await fault.struck
  await loses(id, `update pawl.actions set status = 'failed', item_seq = 1, sends = 1, refused = 1, attempt = 1, token = null, epoch = 1 where run_id = '${id}'`, handedBack(id, 2))
  await world.answer(id, 'happened', '{"ref":"seen"}')
  await sound(id, 'completed_with_failures')
  expect(receipts('both')).toBe(2)
  fault.thaw()
})
