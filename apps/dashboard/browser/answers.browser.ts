/**
 * Every answer the pages can give does what it said: looked up in the ledger, and at the receiver. Meanwhile the workers are killed one after the other.
 */
import type { BlockedReason } from '@pawl/core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { bring, bringAll, disguised, type Scene } from '../../../packages/testing/src/window/waiting-scenes.ts'
import { Ground, type Seat } from './ground.ts'
import { answer, cardOf, choose, entryOf } from './steps.ts'

let ground: Ground
let olga: Seat
let scenes: ReadonlyMap<BlockedReason, Scene>

beforeAll(async () => {
  ground = await Ground.open()
  // Some reasons take a chain of steps, which a fleet that is being killed may end with another reason. What is answered is answered under fire.
  scenes = await bringAll(ground.world)
  ground.world.startKilling()
  olga = await ground.seat('olga')
})
afterAll(() => ground?.close())
afterEach(() => expect(olga.complaints).toEqual([]))

const scene = (reason: BlockedReason): Scene => {
  const found = scenes.get(reason)
  if (!found) throw new Error(`no scene ${reason}`)
  return found
}
const isDone = async ({ runId, seq }: Pick<Scene, 'runId' | 'seq'>, status = 'done'): Promise<void> => {
  await ground.world.until(`item ${seq} of run ${runId} to be ${status}`, async () => ((await ground.world.direct.getItem(runId, seq)).status === status ? true : undefined))
}
/** What the receiver was sent, and how often it took effect. */
const received = (subject: string, op: string) => {
  const receipts = ground.world.effects.receipts({ subject, op })
  return { receipts: receipts.length, effects: receipts.filter(({ applied }) => applied).length }
}
const actorsOf = async (runId: string, kind: string): Promise<string[]> => (await ground.world.direct.listEvents(runId, { limit: 1_000 })).filter((event) => event.kind === kind).map(({ actor }) => actor)

describe('a call that waits for a yes', () => {
  test('is shown letter for letter, what cannot be seen by its number, and approved it is sent once', async () => {
    const { runId, order, seq } = scene('approval')
    const entry = await entryOf(ground.world.direct, runId, 'approval')
    await olga.goto(`/inbox?run=${runId}`)
    const shown = await cardOf(olga.page, entry).locator('[data-args]').innerText()
    expect(entry.approval.argsText).toContain(disguised)
    expect(shown).toBe(entry.approval.argsText.replace('\u202E', 'U+202E').replace('\u200B', 'U+200B'))
    expect(received(order, 'payout')).toEqual({ receipts: 0, effects: 0 })
    await answer(olga, entry, { choice: 'Approve', note: 'checked with the bank' })
    await isDone({ runId, seq })
    expect(received(order, 'payout')).toMatchObject({ effects: 1 })
    expect((await ground.world.direct.listActions(runId)).entries).toMatchObject([{ status: 'committed', tool: 'bank.payout' }])
    expect(await actorsOf(runId, 'approval.approved')).toEqual(['olga'])
  })

  test('rejected it is never sent, and the agent is told why', async () => {
    const { runId, order, seq } = await bring.approval(ground.world, 'rejected')
    await answer(olga, await entryOf(ground.world.direct, runId, 'approval'), { choice: 'Reject', note: 'too much' })
    await isDone({ runId, seq }, 'failed')
    expect(received(order, 'payout')).toEqual({ receipts: 0, effects: 0 })
    expect((await ground.world.direct.listActions(runId)).entries).toMatchObject([{ status: 'rejected' }])
    expect((await ground.world.direct.getItem(runId, seq)).error).toMatchObject({ name: 'Rejected', message: expect.stringContaining('too much') as string })
  })

  test('many of one tool are approved at once, each by its own digest; one that was left out still waits', async () => {
    const orders = ['bulk-1', 'bulk-2', 'bulk-3']
    const runId = await ground.world.start('orders', '4', orders.map((order) => ({ key: order, payload: { order, does: 'payout' } })), {})
    await ground.world.until('three calls to wait', async () => ((await ground.world.direct.inbox({ runId })).entries.length === 3 ? true : undefined))
    await olga.goto(`/inbox?run=${runId}`)
    await olga.page.getByRole('button', { name: 'Decide them together' }).click()
    const dialog = olga.page.getByRole('dialog')
    await dialog.getByRole('checkbox', { name: /bulk-2/ }).uncheck()
    await dialog.getByRole('radio', { name: 'Approve', exact: true }).check()
    await dialog.getByRole('button', { name: 'Approve 2 calls' }).click()
    await dialog.locator('[data-outcome="approved"]').nth(1).waitFor()
    for (const [order, effects] of [['bulk-1', 1], ['bulk-2', 0], ['bulk-3', 1]] as const) await expect.poll(() => received(order, 'payout').effects, { timeout: 30_000 }).toBe(effects)
    const left = (await ground.world.direct.inbox({ runId })).entries
    expect(left.map(({ itemKey }) => itemKey)).toEqual(['bulk-2'])
  })
})

test('three calls of one item wait at once; answered no, yes, no in reverse, each answer reaches its own call (case 71)', async () => {
  const runId = await ground.world.start('orders', '4', [{ key: 'three', payload: { order: 'three', does: 'thrice' } }], {})
  const entries = await ground.world.until('three calls to wait', async () => {
    const found = (await ground.world.direct.inbox({ runId })).entries.filter((entry) => entry.kind === 'approval')
    return found.length === 3 ? found.toSorted((a, b) => a.approval.argsText.localeCompare(b.approval.argsText)) : undefined
  })
  await olga.goto(`/inbox?run=${runId}`)
  for (const [i, choice] of [[2, 'Reject'], [1, 'Approve'], [0, 'Reject']] as const) {
    const entry = entries[i]
    if (!entry) throw new Error('three were there')
    const card = cardOf(olga.page, entry)
    expect(await card.locator('[data-args]').innerText()).toBe(entry.approval.argsText)
    await choose(card, { choice })
    await card.getByText(/by you/).waitFor()
  }
  await isDone({ runId, seq: 1 })
  const { entries: actions } = await ground.world.direct.listActions(runId)
  expect(new Map(actions.map(({ args, status }) => [(args as { cents: number }).cents, status]))).toEqual(new Map([[1501, 'rejected'], [1502, 'committed'], [1503, 'rejected']]))
  expect(received('three', 'payout').effects).toBe(1)
})

describe('a call in doubt', () => {
  test('takes no denial before its time, counts down to it, and “it happened” goes on with what it returned', async () => {
    const { runId, order, seq } = await bring.in_doubt(ground.world, 'doubted')
    const entry = await entryOf(ground.world.direct, runId, 'in_doubt')
    await olga.goto(`/inbox?run=${runId}`)
    const card = cardOf(olga.page, entry)
    await card.waitFor()
    if ((entry.answerableAt?.getTime() ?? 0) > Date.now() + 2_000) {
      expect(await card.locator('[data-wait]').innerText()).toMatch(/For \d+ s more/)
      expect(await card.getByRole('radio', { name: 'It did not happen', exact: true }).isDisabled()).toBe(true)
    }
    await expect.poll(async () => await card.getByRole('radio', { name: 'It did not happen', exact: true }).isEnabled(), { timeout: 30_000 }).toBe(true)
    const [receipt] = ground.world.effects.receipts({ subject: order, op: 'book' })
    await choose(card, { choice: 'It happened', note: 'seen in the courier’s list', fill: async (of) => await of.getByLabel('What the call returned, as JSON').fill(JSON.stringify({ ref: `book-${order}-${receipt?.n}` })) })
    await card.getByText(/by you/).waitFor()
    await isDone({ runId, seq })
    expect(received(order, 'book')).toEqual({ receipts: 1, effects: 1 })
    expect((await ground.world.direct.listActions(runId)).entries).toMatchObject([{ status: 'committed', settledBy: 'person:olga', result: { ref: `book-${order}-${receipt?.n}` } }])
  })

  test('“it did not happen” sends it again, under the same key', async () => {
    ground.world.effects.program('not-booked', [{ drop: 'before' }])
    const runId = await ground.world.start('orders', '4', [{ key: 'not-booked', payload: { order: 'not-booked', does: 'book' } }], {})
    const { seq } = await ground.world.until('a doubt that may be denied', async () => (await ground.world.direct.inbox({ runId })).entries.find((one) => one.kind === 'in_doubt' && one.answers.includes('did_not'))).then(({ itemSeq }) => ({ seq: itemSeq }))
    await answer(olga, await entryOf(ground.world.direct, runId, 'in_doubt'), { choice: 'It did not happen' })
    await isDone({ runId, seq })
    const receipts = ground.world.effects.receipts({ subject: 'not-booked' })
    expect(receipts.map(({ applied }) => applied)).toEqual([false, true])
    expect(new Set(receipts.map(({ key }) => key)).size).toBe(1)
  })

  test('“nobody can find out” fails the item, sends nothing more, and is residue', async () => {
    const { runId, order, seq } = scene('in_doubt')
    await ground.world.until('a doubt that may be given up', async () => (await ground.world.direct.inbox({ runId })).entries.find((one) => one.kind === 'in_doubt' && one.answers.includes('abandon')))
    await answer(olga, await entryOf(ground.world.direct, runId, 'in_doubt'), { choice: 'Nobody can find out' })
    await isDone({ runId, seq }, 'failed')
    expect(received(order, 'book')).toEqual({ receipts: 1, effects: 1 })
    expect(await ground.world.direct.compensate(runId, { dryRun: true })).toMatchObject({ residue: [{ tool: 'courier.book', status: 'abandoned' }] })
  })
})

describe('a question', () => {
  test('is answered in a form made from its schema; the agent goes on with that answer', async () => {
    const { runId, order, seq } = scene('question')
    const entry = await entryOf(ground.world.direct, runId, 'question')
    await olga.goto(`/inbox?run=${runId}`)
    const card = cardOf(olga.page, entry)
    await card.getByRole('button', { name: 'Answer', exact: true }).click()
    // Nothing was filled in: nothing is sent.
    await card.getByText('is needed').first().waitFor()
    await card.getByLabel('decision').selectOption({ label: 'refund' })
    await card.getByLabel('cents').fill('70000')
    await card.getByRole('radio', { name: 'Yes' }).check()
    await card.getByRole('button', { name: 'Answer', exact: true }).click()
    // The ledger refuses what is over the schema's most, and says which member.
    await card.getByText('BAD_ANSWER').waitFor()
    await card.getByLabel('cents').fill('1250')
    expect(JSON.parse(await card.locator('[data-answer]').innerText())).toEqual({ decision: 'refund', cents: 1250, tellCustomer: true })
    await card.getByRole('button', { name: 'Answer', exact: true }).click()
    await card.getByText('Answered by you').waitFor()
    await isDone({ runId, seq })
    expect((await ground.world.direct.getItem(runId, seq)).result).toEqual({ decision: 'refund', given: 1250 })
    expect((await ground.world.direct.listActions(runId)).entries).toMatchObject([{ tool: 'shop.refund', args: { order, cents: 1250 } }])
    expect(received(order, 'refund').effects).toBe(1)
  })
})

describe('a blocked item', () => {
  test('conflict: resumed once its code is mended, it goes on', async () => {
    const { runId, order, seq } = scene('conflict')
    ground.world.mark(`mended-${order}`)
    await answer(olga, await entryOf(ground.world.direct, runId, 'blocked'), { choice: 'Resume' })
    await isDone({ runId, seq })
    expect(received(`${order}@example.org`, 'mail').effects).toBe(1)
  })

  test('diverged: what it asks for now is sent only when somebody says that these are new calls', async () => {
    const { runId, order, seq } = scene('diverged')
    expect(received(`${order}@example.org`, 'mail').effects).toBe(1)
    await answer(olga, await entryOf(ground.world.direct, runId, 'blocked'), { choice: 'Resume', fill: async (card) => await card.getByRole('checkbox', { name: 'What it asks for now are new calls' }).check() })
    await isDone({ runId, seq })
    expect(received(`${order}@example.org`, 'mail').effects).toBe(2)
  })

  test('crash loop: resumed once it is cured, it is done', async () => {
    const { runId, order, seq } = scene('crash_loop')
    ground.world.mark(`cured-${order}`)
    await answer(olga, await entryOf(ground.world.direct, runId, 'blocked'), { choice: 'Resume' })
    await isDone({ runId, seq })
    expect(received(order, 'refund').effects).toBe(1)
  })

  test('a result that could not be kept: ended as failed, with the note as its error', async () => {
    const { runId, seq } = scene('tool_output')
    await answer(olga, await entryOf(ground.world.direct, runId, 'blocked'), { choice: 'Fail', note: 'exported by hand' })
    await isDone({ runId, seq }, 'failed')
    expect((await ground.world.direct.getItem(runId, seq)).error).toMatchObject({ message: 'exported by hand' })
  })

  test('a model that calls its tools wrongly: resumed, it is asked again', async () => {
    const { runId, order, seq } = scene('tool_input')
    await answer(olga, await entryOf(ground.world.direct, runId, 'blocked'), { choice: 'Resume' })
    await isDone({ runId, seq })
    expect(received(order, 'refund').effects).toBe(1)
  })

  test('budget: raised on the run’s page, the item goes on by itself', async () => {
    const { runId, order, seq } = scene('budget')
    await olga.goto(`/runs/${runId}`)
    await olga.page.getByRole('button', { name: 'Budget…' }).click()
    const dialog = olga.page.getByRole('dialog')
    await dialog.getByRole('group', { name: 'Each item' }).getByLabel('Turns').fill('10')
    await dialog.getByRole('button', { name: 'Set these limits' }).click()
    await isDone({ runId, seq })
    expect(received(`${order}@example.org`, 'mail').effects).toBe(1)
    expect(await actorsOf(runId, 'run.budget')).toEqual(['olga'])
  })

  test('version: moved to one that is served, after a look at what would happen', async () => {
    const { runId, order, seq } = scene('version')
    await olga.goto(`/runs/${runId}`)
    await olga.page.getByRole('button', { name: 'Move to version…' }).click()
    const dialog = olga.page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Version' }).fill('4')
    await dialog.getByRole('button', { name: 'Look what would happen' }).click()
    await dialog.locator('[data-preview="repin"]').waitFor()
    expect((await ground.world.direct.getRun(runId)).agentVersion).toBe('9')
    await dialog.getByRole('button', { name: 'Move it to 4' }).click()
    await isDone({ runId, seq })
    expect((await ground.world.direct.getRun(runId)).agentVersion).toBe('4')
    expect(received(order, 'refund').effects).toBe(1)
  })

  test('an undo that the receiver refused: resumed once it takes it, the run is compensated', async () => {
    const { runId, order } = scene('undo')
    ground.world.effects.program(order, [])
    await answer(olga, await entryOf(ground.world.direct, runId, 'blocked'), { choice: 'Resume' })
    await ground.world.until('the run to be compensated', async () => ((await ground.world.direct.getRun(runId)).status === 'compensated' ? true : undefined))
    expect(received(order, 'take-back').effects).toBe(1)
  })

  test('key: it goes on by itself when the other item’s doubt is settled, and nothing is booked twice', async () => {
    const { runId, order, seq } = scene('key')
    const subject = `parcel of ${order}`
    const [receipt] = ground.world.effects.receipts({ subject })
    const entry = await entryOf(ground.world.direct, runId, 'in_doubt')
    await answer(olga, entry, { choice: 'It happened', fill: async (card) => await card.getByLabel('What the call returned, as JSON').fill(JSON.stringify({ ref: `book-${receipt?.n}` })) })
    await isDone({ runId, seq })
    await isDone({ runId, seq: entry.itemSeq })
    expect(received(subject, 'book')).toEqual({ receipts: 1, effects: 1 })
  })
})

test('all of this went on while workers were killed', () => {
  expect(ground.world.kills).toBeGreaterThan(2)
})
