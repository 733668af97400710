/** Several people before one inbox: who was first is said, what changed is shown, who may only look is offered nothing and refused everything. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { bring } from '../../../packages/testing/src/window/waiting-scenes.ts'
import { Ground, type Seat } from './ground.ts'
import { answer, cardOf, choose, entryOf } from './steps.ts'

let ground: Ground
let olga: Seat
let otto: Seat
let rita: Seat

beforeAll(async () => {
  ground = await Ground.open()
  olga = await ground.seat('olga')
  otto = await ground.seat('otto')
  rita = await ground.seat('rita')
})
afterAll(() => ground?.close())
afterEach(() => { for (const { complaints } of [olga, otto, rita]) expect(complaints).toEqual([]) })

const payoutsOf = (order: string): number => ground.world.effects.receipts({ subject: order, op: 'payout' }).length

describe('two people and one call', () => {
  test('whoever comes second is told who was first, and when; the first answer stands (case 70)', async () => {
    const { runId, order, seq } = await bring.approval(ground.world, 'disputed')
    const entry = await entryOf(ground.world.direct, runId, 'approval')
    await otto.goto(`/inbox?run=${runId}`)
    await cardOf(otto.page, entry).waitFor()
    // His page hears of nothing meanwhile.
    await otto.page.route('**/api/v1/inbox**', () => undefined)
    await answer(olga, entry, { choice: 'Approve' })
    await choose(cardOf(otto.page, entry), { choice: 'Reject' })
    const told = cardOf(otto.page, entry).getByRole('alert')
    await told.getByText('APPROVAL_DECIDED').waitFor()
    expect(await told.innerText()).toMatch(/was approved by olga at \d{4}-\d\d-\d\dT[\d:.]+Z; that stands/)
    await otto.page.unroute('**/api/v1/inbox**')
    await ground.world.until('the item to be done', async () => ((await ground.world.direct.getItem(runId, seq)).status === 'done' ? true : undefined))
    expect(payoutsOf(order)).toBe(1)
  })

  test('yes and no in the same moment: one of them decides, the other is told by whom (case 70)', async () => {
    const { runId, order } = await bring.approval(ground.world, 'raced')
    const entry = await entryOf(ground.world.direct, runId, 'approval')
    const cards = await Promise.all([olga, otto].map(async (seat) => {
      await seat.goto(`/inbox?run=${runId}`)
      return cardOf(seat.page, entry)
    }))
    await Promise.all(cards.map(async (card, i) => await card.getByRole('radio', { name: i === 0 ? 'Approve' : 'Reject', exact: true }).check()))
    await Promise.all(cards.map(async (card) => await card.locator('button[type="submit"]').click()))
    const texts = await Promise.all(cards.map(async (card) => {
      await card.getByText(/by you|APPROVAL_DECIDED|It no longer waits/).first().waitFor()
      return await card.innerText()
    }))
    expect(texts.filter((text) => /(Approved|Rejected) by you/.test(text))).toHaveLength(1)
    const winner = /Approved by you/.test(texts[0] ?? '') ? 'olga' : 'otto'
    const loser = texts[winner === 'olga' ? 1 : 0] ?? ''
    expect(loser).toMatch(new RegExp(`(approved|rejected) by ${winner} at|It no longer waits`))
    await expect.poll(() => payoutsOf(order), { timeout: 30_000 }).toBe(winner === 'olga' ? 1 : 0)
  })

  test('what becomes another call under somebody’s eyes is shown as both, and has to be read before it can be answered (case 68)', async () => {
    const runId = await ground.world.start('orders', '4', [{ key: 'raised', payload: { order: 'raised', does: 'twice' } }], {})
    const [first, second] = await ground.world.until('both payouts to wait', async () => {
      const entries = (await ground.world.direct.inbox({ runId })).entries.filter((entry) => entry.kind === 'approval')
      return entries.length === 2 ? entries : undefined
    })
    if (!first || !second) throw new Error('two were there')
    const [small, large] = first.approval.argsText.includes('1600') ? [first, second] : [second, first]
    await olga.goto(`/inbox?run=${runId}`)
    const card = cardOf(olga.page, small)
    await card.getByRole('radio', { name: 'Approve', exact: true }).check()
    ground.world.mark('raised-raised')
    await ground.world.direct.approve(runId, { actionId: large.approval.actionId, digest: large.approval.digest })
    await card.locator('[data-changed]').waitFor({ timeout: 60_000 })
    expect(await card.getByRole('radio').count()).toBe(0)
    const texts = await card.locator('[data-changed] [data-args]').allInnerTexts()
    expect(texts.map((text) => /"cents":(\d+)/.exec(text)?.[1])).toEqual(['1600', '21500'])
    await card.getByRole('button', { name: /I have read it/ }).click()
    expect(await card.locator('[data-args]').innerText()).toContain('21500')
    await choose(card, { choice: 'Reject' })
    await card.getByText('Rejected by you').waitFor()
    // Of the two the one that was approved was sent, and the raised one never.
    expect(payoutsOf('raised')).toBe(1)
  })
})

describe('who may only look', () => {
  test('is shown everything and offered nothing', async () => {
    const { runId, seq } = await bring.question(ground.world, 'looked-at')
    for (const path of [`/inbox?run=${runId}`, `/runs/${runId}`, `/runs/${runId}/items/${seq}`, '/']) {
      await rita.goto(path)
      await rita.page.getByRole('heading', { level: 1 }).waitFor()
      await rita.page.waitForLoadState('networkidle').catch(() => undefined)
      expect(await rita.page.getByRole('main').getByRole('button', { name: /^(Answer|Approve|Reject|Pause|Resume|Cancel|Compensate|Budget|Move)/ }).count()).toBe(0)
    }
    await rita.goto(`/inbox?run=${runId}`)
    await rita.page.getByText('Answering needs the role operate').waitFor()
  })

  test('is refused by the server, whatever the page is made to send', async () => {
    const { runId } = await bring.approval(ground.world, 'forbidden')
    const { approval } = await entryOf(ground.world.direct, runId, 'approval')
    await rita.goto('/')
    const statuses = await rita.page.evaluate(async ({ runId: run, actionId, digest }) => {
      const { csrf } = await (await fetch('/session')).json() as { csrf: string }
      const post = async (path: string, body: unknown): Promise<number> => (await fetch(`/api/v1/runs/${run}${path}`, { method: 'POST', headers: { 'x-pawl-csrf': csrf, 'content-type': 'application/json' }, body: JSON.stringify(body) })).status
      return [await post(`/actions/${actionId}/approve`, { digest }), await post('/approvals', { approve: [{ actionId, digest }] }), await post('/pause', {}), await post('/cancel', {})]
    }, { runId, actionId: approval.actionId, digest: approval.digest })
    expect(statuses).toEqual([403, 403, 403, 403])
    expect(await ground.world.direct.getRun(runId)).toMatchObject({ paused: false, status: 'running' })
    expect((await entryOf(ground.world.direct, runId, 'approval')).approval.status).toBe('open')
  })
})

test('a call is approved with the keyboard alone', async () => {
  const { runId, order, seq } = await bring.approval(ground.world, 'by-keys')
  const { keyboard } = olga.page
  await olga.goto(`/inbox?run=${runId}`)
  await cardOf(olga.page, await entryOf(ground.world.direct, runId, 'approval')).waitFor()
  await keyboard.press('j')
  const focused = (): Promise<string> => olga.page.evaluate<string>(`document.activeElement?.closest('button, a, [data-args]')?.textContent ?? document.activeElement?.getAttribute('type') ?? ''`)
  await tabTo(async () => await olga.page.evaluate<boolean>(`document.activeElement?.type === 'radio'`))
  await keyboard.press('Space')
  await tabTo(async () => /Approve: send this call/.test(await focused()))
  await keyboard.press('Enter')
  await olga.page.getByText('Approved by you').waitFor()
  await ground.world.until('the item to be done', async () => ((await ground.world.direct.getItem(runId, seq)).status === 'done' ? true : undefined))
  expect(payoutsOf(order)).toBe(1)

  async function tabTo(isThere: () => Promise<boolean>): Promise<void> {
    for (let n = 0; n < 25; n++) {
      await keyboard.press('Tab')
      if (await isThere()) return
    }
    throw new Error(`Tab does not lead there; it leads to ${await focused()}`)
  }
})
