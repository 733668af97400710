/** `npm run screenshots`: a PNG of each page, light and dark, at a desk and on a phone, into `docs/images`. The README's two are kept in the repository; the others are made to be looked at. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BlockedReason } from '@pawl/core'
import { bringAll, type Scene } from '../../../packages/testing/src/window/waiting-scenes.ts'
import { Ground, phone, type Seat } from './ground.ts'
import { settled } from './look.ts'

const folder = fileURLToPath(new URL('../../../docs/images', import.meta.url))
const desk = { width: 1280, height: 800 } as const

let ground: Ground
let scenes: ReadonlyMap<BlockedReason, Scene>
let mailing: string

beforeAll(async () => {
  mkdirSync(folder, { recursive: true })
  ground = await Ground.open()
  const { world } = ground
  const recipients = (n: number, name: string) => Array.from({ length: n }, (_, i) => ({ key: `${name}-${i + 1}@example.org`, payload: { to: `${name}-${i + 1}@example.org` } }))
  const done = await world.start('mailing', '3', recipients(60, 'member'), { campaign: 'winter' }, { labels: { campaign: 'winter' } })
  await world.until('the first mailing to end', async () => ((await world.direct.getRun(done)).status === 'completed' ? true : undefined), 120_000)
  // Some are unknown to the receiver; some wait for their turn while the picture is taken.
  for (let i = 7; i < 600; i += 61) world.effects.program(`reader-${i}@example.org`, Array.from({ length: 60 }, () => ({ refuse: 422 })))
  for (let i = 300; i < 320; i++) world.effects.program(`reader-${i}@example.org`, [{ hold: 'before' }])
  scenes = await bringAll(world, 'A-1042')
  mailing = await world.start('mailing', '3', recipients(600, 'reader'), { campaign: 'spring' }, { labels: { campaign: 'spring', shop: 'north' }, policy: { maxConcurrency: 12 } })
  await world.until('the mailing to be half done', async () => ((await world.direct.getRun(mailing)).tally.done > 200 ? true : undefined), 120_000)
  world.startKilling()
})
afterAll(() => ground?.close())

const scene = (reason: BlockedReason): Scene => {
  const found = scenes.get(reason)
  if (!found) throw new Error(`no scene ${reason}`)
  return found
}

async function shoot(seat: Seat, name: string, path: string, open?: string): Promise<void> {
  await seat.goto(path)
  await settled(seat.page)
  if (open !== undefined) {
    await seat.page.getByRole('button', { name: open }).click()
    const dialog = seat.page.getByRole('dialog')
    await dialog.waitFor()
    await dialog.locator('[data-preview]').or(dialog.locator('form')).first().waitFor()
  }
  await seat.page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' })
}

test.each(['light', 'dark'] as const)('every page, %s, at a desk and on a phone', async (colorScheme) => {
  const item = ({ runId, seq }: Scene, tab = ''): string => `/runs/${runId}/items/${seq}${tab}`
  const pages: readonly (readonly [name: string, path: string, open?: string])[] = [
    ['runs', '/'], ['run', `/runs/${mailing}`], ['run-undo', `/runs/${scene('undo').runId}`], ['inbox', '/inbox'], ['approval', `/inbox?run=${scene('approval').runId}`], ['question', `/inbox?run=${scene('question').runId}`],
    ['blocked', `/inbox?run=${scene('diverged').runId}`], ['item', item(scene('budget'))], ['attempts', item(scene('crash_loop'), '?tab=attempts')], ['turns', item(scene('budget'), '?tab=turns')],
    ['brief', item(scene('budget'), '?tab=brief')], ['fleet', '/fleet'], ['tools', '/tools'], ['cancel', `/runs/${mailing}`, 'Cancel…'], ['budget', `/runs/${scene('budget').runId}`, 'Budget…'],
  ]
  for (const [size, viewport] of [['desk', desk], ['phone', phone]] as const) {
    const seat = await ground.seat('olga', { viewport, colorScheme })
    for (const [name, path, open] of pages) await shoot(seat, `${name}-${colorScheme}-${size}`, path, open)
    expect(seat.complaints).toEqual([])
    await seat.context.close()
  }
})
