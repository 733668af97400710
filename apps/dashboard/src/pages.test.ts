/** The pages agree with the ledger, show its text as text, and answer what waits. */
import { askQuestion, blockItem } from '@pawl/ledger'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { claim } from '../../../packages/ledger/src/stage.testsuite.ts'
import { Browser, disguised, evil, hiddenFields, openGround, seedRun, type Ground, type Scene } from './ground.testsuite.ts'

let ground: Ground
let olga: Browser
beforeAll(async () => {
  ground = await openGround()
  olga = new Browser(ground.dashboard.url)
  await olga.login('olga')
})
afterAll(() => ground?.close())

const page = async (path: string): Promise<string> => {
  const reply = await olga.get(path)
  expect([path, reply.status]).toEqual([path, 200])
  return reply.text
}
/** What a reader sees. */
const words = (text: string): string => text.replace(/<(script|style|title)[^>]*>.*?<\/\1>/gs, '').replace(/<[^>]+>/g, ' ').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&').replace(/\s+/g, ' ')

describe('an empty ledger', () => {
  test('says the next command on every page', async () => {
    expect((await ground.direct.listRuns()).entries).toEqual([])
    expect(await page('/')).toContain('npx pawl run start')
    expect(await page('/inbox')).toContain('npx pawl inbox')
  })
})

describe('a run', () => {
  let scene: Scene
  beforeEach(async () => { scene = await seedRun(ground.stage) })

  test('is listed with the counts of the ledger, and found by status, agent and label', async () => {
    const run = await ground.direct.getRun(scene.runId)
    expect(run.tally).toMatchObject({ total: 8, done: 1, failed: 2, blocked: 2, inProgress: 1, pending: 2 })
    for (const query of ['', '?status=running', '?agent=mailing', '?label=campaign%3Aspring', '?status=running&agent=mailing&label=campaign:spring']) expect(await page(`/${query}`)).toContain(scene.runId)
    for (const query of ['?status=completed', '?agent=other', '?label=campaign%3Aautumn']) expect(await page(`/${query}`)).not.toContain(scene.runId)
    expect((await olga.get('/?status=nonsense')).status).toBe(400)
    expect((await olga.get('/?cursor=nonsense')).status).toBe(400)
  })

  test('is listed over as many pages as it takes, each run once', async () => {
    for (let i = 0; i < 55; i++) await ground.direct.startRun('paging', null, { items: [], version: '1' })
    const seen: string[] = []
    let path: string | undefined = '/?agent=paging'
    while (path !== undefined) {
      const text = await page(path)
      seen.push(...[...text.matchAll(/class="strong" href="\/runs\/([^"]+)"/g)].map(([, id]) => id ?? ''))
      path = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&')
    }
    expect(seen).toHaveLength(55)
    expect(new Set(seen).size).toBe(55)
  })

  test('shows its items, counts, reasons and grouped failures', async () => {
    const text = words(await page(`/runs/${scene.runId}`))
    for (const count of ['1 done', '2 failed', '2 blocked', '1 in progress', '2 pending']) expect(text).toContain(count)
    expect(text).toContain('1 crash loop')
    expect(text).toContain('1 in doubt')
    expect(text).toMatch(/What failed 2 BOUNCED: N mailbox N is unknown/)
    const { entries } = await ground.direct.listItems(scene.runId)
    for (const item of entries) expect(text).toMatch(new RegExp(`${item.seq} ${item.key === disguised ? 'invoice- U\\+202E fdp.exe' : item.key.replace(/[.()]/g, '\\$&')} ${item.status.replace('_', ' ')} ${item.attempts}`))
    const failed = await page(`/runs/${scene.runId}?status=failed`)
    expect([...failed.matchAll(/\/items\/(\d+)"><span/g)].map(([, seq]) => Number(seq))).toEqual([2, 3])
  })

  test('shows text of the ledger as text: no markup gets through, nothing invisible hides', async () => {
    for (const path of [`/runs/${scene.runId}`, `/runs/${scene.runId}/items/1`, `/runs/${scene.runId}/items/4`, '/inbox', `/runs/${scene.runId}/compensate`]) {
      const text = await page(path)
      expect(text).not.toContain(evil)
      expect(text).not.toContain('\u202E')
    }
    expect(words(await page(`/runs/${scene.runId}/items/1`))).toContain(evil)
    expect(await page(`/runs/${scene.runId}/items/4`)).toContain('>U+202E</mark>')
  })

  test('an item shows each of its calls as the ledger has it', async () => {
    const { entries: [action] } = await ground.direct.listActions(scene.runId, { itemSeq: 1 })
    const text = words(await page(`/runs/${scene.runId}/items/1`))
    expect(action?.status).toBe('committed')
    for (const expected of [action?.key ?? '?', 'mail-api.send', 'committed', '1, sent once', 'm-1', '"ok"']) expect(text).toContain(expected)
  })

  test('an unknown run, item or page is 404 with a way on', async () => {
    for (const path of ['/runs/0190a000-0000-7000-8000-000000000000', '/runs/nonsense', `/runs/${scene.runId}/items/99`, '/nonsense']) {
      const reply = await olga.get(path)
      expect([path, reply.status]).toEqual([path, 404])
      expect(reply.text).toContain('To the runs')
    }
  })

  test('is paused and resumed by the buttons’ pages', async () => {
    expect((await olga.submit(`/runs/${scene.runId}/pause`, `/runs/${scene.runId}/pause`)).status).toBe(303)
    expect((await ground.direct.getRun(scene.runId)).paused).toBe(true)
    expect(words(await page(`/runs/${scene.runId}`))).toContain('pause: done')
    expect((await olga.submit(`/runs/${scene.runId}/resume`, `/runs/${scene.runId}/resume`)).status).toBe(303)
    expect((await ground.direct.getRun(scene.runId)).paused).toBe(false)
  })

  test('a verb’s page shows what the producer says would happen, and looking changes nothing', async () => {
    const preview = await ground.direct.compensate(scene.runId, { dryRun: true })
    const text = words(await page(`/runs/${scene.runId}/compensate`))
    if (!preview.dryRun) throw new Error('not a preview')
    expect(text).toContain(`Items that are stopped ${preview.items.stopped}`)
    expect(text).toContain(`Asked ${preview.asked.length}`)
    expect(text).toContain(`Residue ${preview.residue.length}`)
    expect((await ground.direct.getRun(scene.runId)).status).toBe('running')
    expect((await olga.submit(`/runs/${scene.runId}/cancel`, `/runs/${scene.runId}/cancel`, { reason: 'wrong list' })).status).toBe(303)
    expect((await ground.direct.getRun(scene.runId)).status).toBe('cancelled')
    const events = await ground.direct.listEvents(scene.runId, { limit: 1_000 })
    expect(JSON.stringify(events)).toContain('wrong list (by olga)')
  })

  test('a yes to a preview that no longer holds is refused, and the new one is shown', async () => {
    const action = `/runs/${scene.runId}/compensate`
    const fields = new URLSearchParams(hiddenFields(await page(action), action))
    await ground.direct.cancel(scene.runId)
    const reply = await olga.send('POST', action, fields)
    expect(reply.status).toBe(409)
    expect(words(reply.text)).toContain('Not done: the run is now cancelled')
    expect((await ground.direct.getRun(scene.runId)).status).toBe('cancelled')
  })
})

describe('a question of an agent', () => {
  test('is shown with what it takes, answered with a word of who did, and refused by the member that does not fit', async () => {
    const { runId } = await seedRun(ground.stage)
    const by = await claim(ground.stage, runId, 7)
    const { question } = await askQuestion(ground.stage.ledger, by, { key: '1', text: `Pay ${evil} and ${disguised}?`, answerSchema: '{"type":"object","properties":{"cents":{"type":"integer"}},"required":["cents"]}' })
    await blockItem(ground.stage.ledger, by, 'question', { question: question?.id })
    const [inbox, path] = [`/inbox?run=${runId}`, `/inbox/runs/${runId}/questions/${question?.id}`]
    const text = await page(inbox)
    expect(text).not.toContain(evil)
    for (const expected of ['The agent asks', 'U+202E', '"cents"', 'the first answer stands']) expect(words(text)).toContain(expected)
    const refused = await olga.submit(inbox, path, { answer: '{"cents":"many"}' })
    expect(refused.status).toBe(422)
    expect(words(refused.text)).toMatch(/answer\.cents: .*BAD_ANSWER/)
    expect((await olga.submit(inbox, path, { answer: 'ten' })).status).toBe(400)
    const fields = hiddenFields(await page(inbox), path)
    expect((await olga.submit(inbox, path, { answer: '{"cents":10}', note: 'asked Bob' })).status).toBe(303)
    expect((await ground.direct.listEvents(runId, { limit: 1_000 })).find((event) => event.kind === 'question.answered')).toMatchObject({ itemSeq: 7, data: { note: 'asked Bob (by olga)' } })
    const late = await olga.send('POST', path, new URLSearchParams({ ...fields, answer: '{"cents":11}' }))
    expect(late.status).toBe(409)
    expect(words(late.text)).toContain('was answered by dashboard at 2')
  })
})

describe('the inbox', () => {
  let scene: Scene
  beforeEach(async () => { scene = await seedRun(ground.stage) })
  const inbox = () => `/inbox?run=${scene.runId}`
  const doubt = () => `/inbox/runs/${scene.runId}/actions/${scene.doubtful.actionId}`
  const actionNow = async () => (await ground.direct.listActions(scene.runId, { itemSeq: scene.doubtful.seq })).entries[0]

  test('shows what is in doubt and what is blocked, with all that is needed to decide', async () => {
    const text = words(await page(inbox()))
    for (const expected of ['Did mail-api.send happen?', 'key-4', 'invoice- U+202E fdp.exe', 'never sent again', 'crash loop', 'Resume', 'Fail']) expect(text).toContain(expected)
  })

  test('“it happened” records the result, the note and the person', async () => {
    expect((await olga.submit(inbox(), doubt(), { answer: 'happened', result: '{"messageId":"m-4"}', note: 'seen in the log' })).status).toBe(303)
    expect(await actionNow()).toMatchObject({ status: 'committed', result: { messageId: 'm-4' }, settledBy: 'person:dashboard' })
    expect(JSON.stringify(await ground.direct.listEvents(scene.runId, { limit: 1_000 }))).toContain('seen in the log (by olga)')
    expect(words(await page(inbox()))).toContain('Recorded')
  })

  test('“it did not happen” and “nobody can find out” are recorded as such', async () => {
    await olga.submit(inbox(), doubt(), { answer: 'did_not' })
    expect((await actionNow())?.status).toBe('failed')
    scene = await seedRun(ground.stage)
    await olga.submit(inbox(), doubt(), { answer: 'abandon' })
    expect((await actionNow())?.status).toBe('abandoned')
  })

  test('an answer to what changed meanwhile is refused with DOUBT_CHANGED, and the new evidence is shown', async () => {
    const fields = hiddenFields(await page(inbox()), doubt())
    await ground.stage.rows(`select pawl.add_evidence($1, 'key-4', '{"late":"the receiver lists it"}', null, null)`, [scene.runId])
    const reply = await olga.send('POST', doubt(), new URLSearchParams({ ...fields, answer: 'did_not' }))
    expect(reply.status).toBe(409)
    expect(reply.text).toContain('DOUBT_CHANGED')
    expect(words(reply.text)).toContain('the receiver lists it')
    expect((await actionNow())?.status).toBe('in_doubt')
    expect((await olga.send('POST', doubt(), new URLSearchParams({ ...fields, ...hiddenFields(reply.text, doubt()), answer: 'did_not' }))).status).toBe(303)
  })

  test('a result that is no JSON, or whose digits would change, is refused and nothing is recorded', async () => {
    const reply = await olga.submit(inbox(), doubt(), { answer: 'happened', result: '{oops' })
    expect(reply.status).toBe(400)
    expect(words(reply.text)).toContain('result: is no JSON')
    expect(words((await olga.submit(inbox(), doubt(), { answer: 'happened', result: '9007199254740993' })).text)).toContain('result holds the number 9007199254740993')
    expect((await actionNow())?.status).toBe('in_doubt')
  })

  test('a blocked item is resumed or ended, and a second answer is refused with its state', async () => {
    const path = `/inbox/runs/${scene.runId}/items/5`
    const fields = hiddenFields(await page(inbox()), path)
    expect((await olga.send('POST', path, new URLSearchParams({ ...fields, verb: 'fail', note: 'poison' }))).status).toBe(303)
    expect((await ground.direct.getItem(scene.runId, 5)).status).toBe('failed')
    const again = await olga.send('POST', path, new URLSearchParams({ ...fields, verb: 'resume' }))
    expect(again.status).toBe(409)
    expect(words(again.text)).toContain('is failed')
  })
})

test('no page shows the producer’s token, the database’s password or the session secret', async () => {
  const scene = await seedRun(ground.stage)
  const secrets = [ground.env['PAWL_PRODUCER_TOKEN'], ground.env['PAWL_SESSION_SECRET'], new URL(ground.env['DATABASE_URL'] ?? '').password].filter((each) => each !== undefined && each !== '')
  expect(secrets.length).toBeGreaterThanOrEqual(2)
  for (const path of ['/', '/inbox', `/runs/${scene.runId}`, '/queues/', '/queues/api/queues', '/queues/api/redis/stats', '/nowhere']) {
    const { text } = await olga.get(path)
    for (const secret of secrets) expect(text.includes(secret ?? '')).toBe(false)
  }
})

test('without a producer the pages say so, and how the token is wrong where it is', async () => {
  const away = await ground.start({ PAWL_PRODUCER_URL: 'http://127.0.0.1:9' })
  const browser = new Browser(away.url)
  await browser.login('olga')
  const reply = await browser.get('/')
  expect(reply.status).toBe(503)
  expect(words(reply.text)).toContain('127.0.0.1:9 did not answer')
  expect((await browser.get('/queues/')).status).toBe(200)

  const wrong = await ground.start({ PAWL_PRODUCER_TOKEN: 'not-a-token' })
  const other = new Browser(wrong.url)
  await other.login('olga')
  const refused = await other.get('/')
  expect(refused.status).toBe(502)
  expect(words(refused.text)).toContain('PAWL_PRODUCER_TOKEN')
})
