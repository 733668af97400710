/** Nothing of weight is begun without its preview: what it says is what the ledger says, and what happens afterwards is what it said. */
import type { Preview } from '@pawl/client'
import type { Locator } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { bring } from '../../../packages/testing/src/window/waiting-scenes.ts'
import { elsewhere, Ground, type Seat } from './ground.ts'

let ground: Ground
let olga: Seat
/** Every write that the page sent, dry runs apart. */
const writes: string[] = []

beforeAll(async () => {
  ground = await Ground.open()
  ground.world.startKilling(4_000)
  olga = await ground.seat('olga')
  olga.page.on('request', (request) => void (request.method() === 'POST' && !/dryRun=true|"dryRun":true/.test(request.url() + (request.postData() ?? '')) && writes.push(new URL(request.url()).pathname.replace(/^.*\//, ''))))
})
afterAll(() => ground?.close())
afterEach(() => { writes.length = 0; expect(olga.complaints).toEqual([]) })

const statusOf = async (runId: string): Promise<string> => (await ground.world.direct.getRun(runId)).status
const becomes = async (runId: string, status: string): Promise<void> => void (await ground.world.until(`run ${runId} to be ${status}`, async () => ((await statusOf(runId)) === status ? true : undefined)))

/** Items that refund an order each; the named ones are refused. */
async function refunds(orders: readonly string[], refused: readonly string[] = []): Promise<string> {
  for (const order of refused) ground.world.effects.program(order, Array.from({ length: 60 }, () => ({ refuse: 422 })))
  return await ground.world.start('orders', '4', orders.map((order) => ({ key: order, payload: { order, does: 'refund' } })), {})
}

async function open(runId: string, name: string): Promise<Locator> {
  await olga.goto(`/runs/${runId}`)
  await olga.page.getByRole('button', { name: `${name}…` }).click()
  const dialog = olga.page.getByRole('dialog')
  await dialog.locator('[data-preview]').waitFor()
  return dialog
}

const countsOf = async (dialog: Locator): Promise<Record<string, number>> =>
  Object.fromEntries(await dialog.locator('[data-preview] [data-count]').evaluateAll((all) => all.map((one) => [one.getAttribute('data-count') ?? '', Number(one.querySelector('p:last-child')?.textContent?.replaceAll(',', ''))])))

const expected = (preview: Preview): Record<string, number> => ({
  'Called again': preview.calledAgain.length, Verified: preview.verified.length, Asked: preview.asked.length, Undone: preview.undone.length, Residue: preview.residue.length,
})
async function dry(verb: 'resume' | 'cancel' | 'compensate', runId: string): Promise<Preview> {
  const preview = await ground.world.direct[verb](runId, { dryRun: true })
  if (!preview.dryRun) throw new Error('that was no dry run')
  return preview
}

test('resume: says what goes round again and what is skipped; only then, and only the refused are sent again', async () => {
  const runId = await refunds(['fine-1', 'fine-2', 'refused-1'], ['refused-1'])
  await becomes(runId, 'failed')
  const dialog = await open(runId, 'Resume')
  const preview = await dry('resume', runId)
  expect(await countsOf(dialog)).toEqual({ 'Items that go round again': preview.items.again, 'Items left as they are': preview.items.kept, 'Committed calls skipped': preview.skipped, ...expected(preview) })
  expect(preview.items).toMatchObject({ again: 1, kept: 2 })
  await dialog.getByRole('button', { name: 'Leave it as it is' }).click()
  expect([writes, await statusOf(runId)]).toEqual([[], 'failed'])
  ground.world.effects.program('refused-1', [])
  await (await open(runId, 'Resume')).getByRole('button', { name: 'Resume the run' }).click()
  await becomes(runId, 'completed')
  expect(writes).toEqual(['resume'])
  for (const order of ['fine-1', 'fine-2', 'refused-1']) expect(ground.world.effects.effects({ subject: order, op: 'refund' })).toBe(1)
})

test('compensate: lists what is undone and what stands; then each is undone once, newest first', async () => {
  const runId = await refunds(['back-1', 'back-2', 'back-3'])
  await becomes(runId, 'completed')
  const dialog = await open(runId, 'Compensate')
  const preview = await dry('compensate', runId)
  expect(await countsOf(dialog)).toMatchObject({ 'Items left as they are': 3, ...expected(preview) })
  expect(preview.undone).toHaveLength(3)
  expect(await dialog.locator('tbody tr').count()).toBe(3)
  await dialog.getByLabel('Reason, for the record').fill('sent in error')
  await dialog.getByRole('button', { name: 'Compensate the run' }).click()
  await becomes(runId, 'compensated')
  for (const order of ['back-1', 'back-2', 'back-3']) expect(ground.world.effects.effects({ subject: order, op: 'take-back' })).toBe(1)
  expect((await ground.world.direct.listEvents(runId, { limit: 1_000 })).find(({ kind }) => kind === 'run.compensating')).toMatchObject({ actor: 'olga', data: { reason: 'sent in error' } })
})

test('cancel: says what is stopped and what is asked; then nothing more is sent', async () => {
  const { runId, order } = await bring.approval(ground.world, 'called-off')
  const dialog = await open(runId, 'Cancel')
  expect(await countsOf(dialog)).toMatchObject({ 'Items that are stopped': 1, ...expected(await dry('cancel', runId)) })
  await dialog.getByRole('button', { name: 'Cancel the run' }).click()
  await becomes(runId, 'cancelled')
  expect(writes).toEqual(['cancel'])
  expect(ground.world.effects.receipts({ subject: order })).toEqual([])
})

test('pause and resume: nothing is begun while it is paused', async () => {
  const { runId } = await bring.question(ground.world, 'held-up')
  await olga.goto(`/runs/${runId}`)
  await olga.page.getByRole('button', { name: 'Pause…' }).click()
  expect(writes).toEqual([])
  await olga.page.getByRole('dialog').getByRole('button', { name: 'Pause the run' }).click()
  await expect.poll(async () => (await ground.world.direct.getRun(runId)).paused).toBe(true)
  await (await open(runId, 'Resume')).getByRole('button', { name: 'Resume the run' }).click()
  await expect.poll(async () => (await ground.world.direct.getRun(runId)).paused).toBe(false)
})

test('a version nobody has is refused before anything is moved', async () => {
  const { runId } = await bring.question(ground.world, 'moved')
  await olga.goto(`/runs/${runId}`)
  await olga.page.getByRole('button', { name: 'Move to version…' }).click()
  const dialog = olga.page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Version' }).fill('77')
  await dialog.getByRole('button', { name: 'Look what would happen' }).click()
  await dialog.getByText('It would be refused').waitFor()
  expect(await dialog.getByRole('button', { name: /^Move it to/ }).count()).toBe(0)
  expect([writes, (await ground.world.direct.getRun(runId)).agentVersion]).toEqual([[], '4'])
})

/** What a dialog shows stays as it is until the answer is called: the repeated looks are held back, and so is the one of the yes. */
async function holdLooks(): Promise<() => Promise<void>> {
  let free = (): void => undefined
  const isFree = new Promise<void>((resolve) => { free = resolve })
  await olga.page.route(/\/v1\/runs\/.*\/(resume|repin)/, async (route) => {
    await isFree
    await route.continue()
  })
  return async () => {
    free()
    await olga.page.unrouteAll({ behavior: 'wait' })
  }
}

/** Of two runs at once, on the page of all runs. */
async function openMany(seat: Seat, runIds: readonly string[], name: string): Promise<Locator> {
  for (const runId of runIds) await seat.page.getByLabel(`Select run ${runId}`).check()
  await seat.page.getByRole('region', { name: 'Chosen runs' }).getByRole('button', { name: `${name}…` }).click()
  const dialog = seat.page.getByRole('dialog')
  await dialog.getByRole('button', { name: `${name} ${runIds.length} runs` }).waitFor()
  return dialog
}

test('move to another version: what somebody moved between the look and the yes is not moved, but looked at again', async () => {
  const { runId } = await bring.question(ground.world, 'moved-by-two')
  await olga.goto(`/runs/${runId}`)
  await olga.page.getByRole('button', { name: 'Move to version…' }).click()
  const dialog = olga.page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Version' }).fill('77')
  await dialog.getByLabel('Also to a version that nobody has now').check()
  await dialog.getByRole('button', { name: 'Look what would happen' }).click()
  const yes = dialog.getByRole('button', { name: 'Move it to 77' })
  await yes.waitFor()
  const goOn = await holdLooks()
  await ground.world.direct.repin(runId, { to: '78', force: true })
  await yes.click()
  await goOn()
  await dialog.getByText('Not done: the run has changed since you looked').waitFor()
  expect([writes, (await ground.world.direct.getRun(runId)).agentVersion]).toEqual([[], '78'])
  await yes.click()
  await expect.poll(async () => (await ground.world.direct.getRun(runId)).agentVersion).toBe('77')
  expect(writes).toEqual(['repin'])
})

test('many at once: what somebody else lets go on between the look and the yes is looked at again; then it is a record', async () => {
  const runIds = [(await bring.question(ground.world, 'many-1')).runId, (await bring.question(ground.world, 'many-2')).runId] as const
  for (const runId of runIds) await ground.world.direct.cancel(runId)
  await olga.goto('/')
  const dialog = await openMany(olga, runIds, 'Resume')
  const goOn = await holdLooks()
  await ground.world.direct.resume(runIds[0])
  await dialog.getByRole('button', { name: 'Resume 2 runs' }).click()
  await goOn()
  await dialog.getByText('Not done: runs have changed since you looked').waitFor()
  expect([writes, await statusOf(runIds[0]), await statusOf(runIds[1])]).toEqual([[], 'running', 'cancelled'])
  await dialog.getByRole('button', { name: 'Resume 2 runs' }).click()
  await olga.page.getByRole('region', { name: 'Bulk work' }).getByText('2 done').waitFor()
  expect([writes, await statusOf(runIds[1])]).toEqual([['bulk'], 'running'])
})

test('many at once: a yes whose answer was lost is asked for again as it was, and is one piece of work', async () => {
  const runIds = [(await bring.question(ground.world, 'lost-1')).runId, (await bring.question(ground.world, 'lost-2')).runId]
  await olga.goto('/')
  const dialog = await openMany(olga, runIds, 'Pause')
  let begun = ''
  await olga.page.route('**/v1/bulk', async (route) => {
    begun = ((await (await route.fetch()).json()) as { id: string }).id
    await route.abort()
  }, { times: 1 })
  await dialog.getByRole('button', { name: 'Pause 2 runs' }).click()
  await dialog.getByText('Not started').waitFor()
  for (const each of runIds) await expect.poll(async () => (await ground.world.direct.getRun(each)).paused).toBe(true)
  await dialog.getByRole('button', { name: 'Pause 2 runs' }).click()
  await olga.page.getByRole('region', { name: 'Bulk work' }).getByText('2 done').waitFor()
  expect([writes, new URL(olga.page.url()).searchParams.get('bulk')]).toEqual([['bulk', 'bulk'], begun])
  // The browser's own words about the answer that was taken away.
  expect(olga.complaints.splice(0).every((complaint) => complaint.includes('ERR_FAILED'))).toBe(true)
})

test('over plain http from another host, where browsers have neither randomUUID nor a clipboard, many are paused, and there is no button that copies nothing', async () => {
  const dashboard = await ground.startDashboard({ PAWL_HOST: '0.0.0.0' })
  const { runId, seq } = await bring.approval(ground.world, 'plain-http')
  const otto = await ground.seat('otto', {}, `http://${elsewhere}:${new URL(dashboard.url).port}`)
  expect(await otto.page.evaluate('isSecureContext')).toBe(false)
  await otto.goto('/')
  const runIds = [runId, (await bring.question(ground.world, 'plain-http')).runId]
  const dialog = await openMany(otto, runIds, 'Pause')
  await dialog.getByRole('button', { name: 'Pause 2 runs' }).click()
  await otto.page.getByRole('region', { name: 'Bulk work' }).getByText('2 done').waitFor()
  for (const each of runIds) expect((await ground.world.direct.getRun(each)).paused).toBe(true)
  await otto.goto(`/runs/${runId}/items/${seq}`)
  await otto.page.getByText(`npx pawl approve ${runId}`).waitFor({ state: 'attached' })
  expect(await otto.page.locator('button[aria-label^="Copy"]').count()).toBe(0)
  // Only a page from a trustworthy origin may ask for an opener policy; Chromium says so at each page.
  expect(otto.complaints.filter((complaint) => !complaint.includes('Cross-Origin-Opener-Policy'))).toEqual([])
})
