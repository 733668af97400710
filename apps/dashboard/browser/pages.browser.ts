/**
 * Every page over a live fleet that is being killed, with everything on it that can wait for a person: it agrees with the ledger, can be read by everybody,
 * fits on a phone, and complains of nothing.
 */
import { BLOCKED_REASONS, type BlockedReason } from '@pawl/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bringAll, disguised, type Scene } from '../../../packages/testing/src/window/waiting-scenes.ts'
import { Ground, phone, wide, type Seat } from './ground.ts'
import { axeOf, settled, sidewaysOf } from './look.ts'

let ground: Ground
let olga: Seat
let scenes: ReadonlyMap<BlockedReason, Scene>
/** A long one that is at work all the while. */
let busyRun: string

beforeAll(async () => {
  ground = await Ground.open()
  const recipients = Array.from({ length: 400 }, (_, i) => `reader-${i + 1}@example.org`)
  busyRun = await ground.world.start('mailing', '3', recipients.map((to) => ({ key: to, payload: { to } })), { campaign: 'spring' }, { labels: { campaign: 'spring' } })
  scenes = await bringAll(ground.world)
  // Some reasons take a chain of steps, which a fleet that is being killed may end with another reason. What is looked at is looked at under fire.
  ground.world.startKilling()
  olga = await ground.seat('olga')
})
afterAll(() => ground?.close())

const scene = (reason: BlockedReason): Scene => {
  const found = scenes.get(reason)
  if (!found) throw new Error(`no scene ${reason}`)
  return found
}
const pageText = async (): Promise<string> => (await olga.page.getByRole('main').innerText()).replace(/\s+/g, ' ')

describe('agrees with the ledger', () => {
  test('every reason an item can wait for is there, and each is on its run’s page, its item’s page and in the inbox', async () => {
    expect([...scenes.keys()].toSorted()).toEqual([...BLOCKED_REASONS].toSorted())
    for (const reason of BLOCKED_REASONS) {
      const { runId, seq } = scene(reason)
      expect((await ground.world.direct.getRun(runId)).blockedReasons).toHaveProperty(reason)
      const words = reason.replaceAll('_', ' ')
      await olga.goto(`/runs/${runId}`)
      await settled(olga.page)
      await expect.poll(pageText, { timeout: 10_000 }).toContain(words)
      await olga.goto(`/runs/${runId}/items/${seq}`)
      await settled(olga.page)
      await expect.poll(pageText, { timeout: 10_000 }).toContain(`Waits: ${words}`)
      await olga.page.getByRole('region', { name: 'What waits for a person' }).locator('article').first().waitFor()
    }
  })

  test('the inbox holds what the ledger’s inbox holds, in its order', async () => {
    await olga.goto('/inbox')
    await settled(olga.page)
    const { entries } = await ground.world.direct.inbox({ limit: 1_000 })
    await expect.poll(async () => await olga.page.locator('article[data-entry]').evaluateAll((cards) => cards.map((card) => card.getAttribute('data-entry')))).toEqual(entries.map(({ kind }) => kind))
    expect(await olga.page.getByRole('navigation', { name: 'Pages' }).first().innerText()).toContain(String(entries.length))
  })

  test('the run at work is as far on its page as it is in the ledger', async () => {
    await olga.goto(`/runs/${busyRun}`)
    await settled(olga.page)
    for (let look = 0; look < 3; look++) {
      const { tally: before } = await ground.world.direct.getRun(busyRun)
      await expect.poll(async () => {
        const done = Number(/([\d,]+) done/.exec((await olga.page.getByRole('main').locator('[role="img"]').first().getAttribute('aria-label')) ?? '')?.[1]?.replaceAll(',', '') ?? 0)
        return done >= before.done && done <= (await ground.world.direct.getRun(busyRun)).tally.done
      }, { timeout: 3_000 }).toBe(true)
    }
  })

  test('runs are found by status, label and id; what is not there is not shown', async () => {
    await olga.goto('/?label=campaign%3Aspring')
    await settled(olga.page)
    await olga.page.locator(`a[href$="/runs/${busyRun}"]`).first().waitFor()
    await olga.goto('/?label=campaign%3Aautumn')
    await settled(olga.page)
    expect(await olga.page.locator(`a[href$="/runs/${busyRun}"]`).count()).toBe(0)
  })

  test('an item shows each of its calls, its attempts and its brief as the ledger has them', async () => {
    const { runId, seq } = scene('budget')
    const { entries: actions } = await ground.world.direct.listActions(runId, { itemSeq: seq })
    await olga.goto(`/runs/${runId}/items/${seq}`)
    for (const action of actions) {
      const card = olga.page.locator(`[data-action="${action.id}"]`)
      await card.waitFor()
      const text = await card.innerText()
      for (const part of [action.tool, action.key, action.status.replaceAll('_', ' ')]) expect(text).toContain(part)
    }
    await olga.goto(`/runs/${runId}/items/${seq}?tab=turns`)
    await olga.page.locator('[data-turn]').first().waitFor()
    expect(await olga.page.locator('[data-turn]').count()).toBe(2)
    await olga.goto(`/runs/${runId}/items/${seq}?tab=brief`)
    await olga.page.locator('[data-role="system"]').waitFor()
    const brief = await ground.world.direct.brief(runId, seq)
    const shown = await olga.page.locator('[data-role]').allInnerTexts()
    // Instructions are the producer's to know; the messages are the ledger's.
    for (const message of brief.messages) if (message.role === 'user') expect(shown.join('\n')).toContain(message.content.split('\n')[0] ?? '?')
    const { runId: looped, seq: died } = scene('crash_loop')
    await olga.goto(`/runs/${looped}/items/${died}?tab=attempts`)
    await olga.page.locator('[data-epoch]').first().waitFor()
    expect(await olga.page.locator('[data-epoch]').count()).toBe((await ground.world.direct.getItem(looped, died)).attempts)
  })

  test('the fleet’s page names the workers there are', async () => {
    await olga.goto('/fleet')
    await settled(olga.page)
    await expect.poll(async () => {
      const shown = await olga.page.locator('[data-worker]').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-worker')))
      const live = (await ground.world.ledger.query<{ id: string }>('select id from pawl.workers')).map(({ id }) => id)
      return live.length > 0 && live.every((id) => shown.includes(id))
    }, { timeout: 20_000 }).toBe(true)
    await expect.poll(pageText, { timeout: 10_000 }).toMatch(/orders 9 blocked: no live worker has its version/)
  })

  test('the tools’ page says what each can do and what takes it back', async () => {
    await olga.goto('/tools')
    await settled(olga.page)
    const row = (name: string) => olga.page.getByRole('region', { name: 'orders 4' }).locator(`[data-tool="${name}"]`)
    await row('bank.payout').waitFor()
    expect(await row('bank.payout').innerText()).toMatch(/non-idempotent[\s\S]*verified[\s\S]*by place[\s\S]*nothing, ever[\s\S]*always/)
    expect(await row('shop.refund').innerText()).toMatch(/idempotent[\s\S]*called again under its key[\s\S]*by meaning[\s\S]*shop\.take-back-refund/)
  })
})

describe('can be read by everybody', () => {
  const looks = [
    { name: 'light, 1280 px', viewport: wide, colorScheme: 'light' },
    { name: 'dark, 1280 px', viewport: wide, colorScheme: 'dark' },
    { name: 'light, 390 px', viewport: phone, colorScheme: 'light' },
    { name: 'dark, 390 px', viewport: phone, colorScheme: 'dark' },
  ] as const

  test.each(looks)('$name: no page can be scrolled sideways, none violates a rule of accessibility, none complains', async ({ viewport, colorScheme }) => {
    const seat = await ground.seat('olga', { viewport, colorScheme })
    const item = ({ runId, seq }: Scene, tab = ''): string => `/runs/${runId}/items/${seq}${tab}`
    const paths = [
      '/', '/?status=running', '/inbox', '/fleet', '/tools', `/runs/${busyRun}`, `/runs/${scene('in_doubt').runId}`, `/runs/${scene('undo').runId}`,
      item(scene('approval')), item(scene('question')), item(scene('crash_loop'), '?tab=attempts'), item(scene('budget'), '?tab=turns'), item(scene('budget'), '?tab=brief'), '/nowhere',
    ]
    const found: string[] = []
    for (const path of paths) {
      await seat.goto(path)
      await settled(seat.page)
      for (const line of await axeOf(seat.page)) found.push(`${path}: ${line}`)
      const sideways = await sidewaysOf(seat.page)
      if (sideways > 0) found.push(`${path}: can be scrolled ${sideways} px sideways`)
    }
    // The one page that is not there answers 404.
    expect({ found, complaints: seat.complaints.filter((line) => !line.includes('/nowhere')) }).toEqual({ found: [], complaints: [] })
    await seat.context.close()
  })

  test('the dialogs, too', async () => {
    const found: string[] = []
    for (const [path, button] of [[`/runs/${scene('in_doubt').runId}`, 'Cancel…'], [`/runs/${scene('in_doubt').runId}`, 'Move to version…'], [`/runs/${scene('budget').runId}`, 'Budget…'], [`/runs/${scene('question').runId}`, 'Compensate…']] as const) {
      await olga.goto(path)
      await olga.page.getByRole('button', { name: button }).click()
      await olga.page.getByRole('dialog').getByRole('button', { name: 'Leave it as it is' }).or(olga.page.getByRole('dialog').getByRole('button', { name: 'Look what would happen' })).first().waitFor()
      for (const line of await axeOf(olga.page)) found.push(`${path} ${button}: ${line}`)
    }
    expect(found).toEqual([])
  })
})

test('what cannot be seen is shown by its number on every page that shows it', async () => {
  const { runId, seq } = scene('approval')
  for (const path of ['/inbox', `/runs/${runId}/items/${seq}`]) {
    await olga.goto(path)
    await olga.page.locator('mark', { hasText: 'U+202E' }).first().waitFor()
    const text = await olga.page.evaluate<string>('document.body.textContent')
    expect(text).not.toContain(disguised)
    expect(text).not.toContain('\u202E')
  }
})

test('the pages complained of nothing, and workers were killed meanwhile', () => {
  expect(olga.complaints).toEqual([])
  expect(ground.world.kills).toBeGreaterThan(2)
})
