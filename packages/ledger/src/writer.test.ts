import { newId } from '@pawl/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCuttingProxy } from './cutting-proxy.testsuite.ts'
import { Ledger } from './connect.ts'
import { actionNow, claim, committed, completionOf, endLease, flushOne, intentOf, itemNow, openStage, runOf, started, until, uniqueName, type Claimed, turnOf, type Stage } from './stage.testsuite.ts'
import { settleAction } from './verbs/settle.ts'
import { Writer, type WriterOptions } from './writer.ts'

let stage: Stage
beforeAll(async () => { stage = await openStage() })
afterAll(async () => { await stage.close() })

const held = async (n = 1): Promise<Claimed> => await claim(stage, await runOf(stage, n), 1)
const writerOn = (ledger: Ledger = stage.ledger, options: Partial<WriterOptions> = {}): Writer => new Writer(ledger, { leaseMs: 15_000, ...options })

test('a completion rides with the next intent of its item, and many items ride together', async () => {
  const runId = await runOf(stage, 20)
  const all = await Promise.all(Array.from({ length: 20 }, (_, i) => claim(stage, runId, i + 1)))
  const flushes: number[] = []
  const timelines: string[] = []
  const writer = writerOn(stage.ledger, { onFlush: ({ items }) => flushes.push(items), onHistory: ({ timeline }) => timelines.push(timeline) })
  await Promise.all(all.map(async (by) => {
    const one = intentOf(`one-${by.seq}`)
    expect((await writer.intent(by, by.epoch, one)).outcome).toBe('sent')
    const recorded = writer.completion(by, by.epoch, completionOf(one))
    expect((await writer.intent(by, by.epoch, intentOf(`two-${by.seq}`, { effect: 'read' }))).outcome).toBe('sent')
    expect(await recorded).toEqual({ outcome: 'recorded', status: 'committed' })
  }))
  expect(flushes.reduce((a, b) => a + b)).toBe(40)
  expect(flushes.length).toBeLessThan(20)
  expect(new Set(timelines)).toEqual(new Set([await stage.value('select pawl.timeline_now()')]))
})

test('every answer of a stale epoch is “fenced”', async () => {
  const zombie = await held()
  const intent = await started(stage, zombie, 'k')
  await endLease(stage, zombie)
  await claim(stage, zombie.runId, 1)
  const writer = writerOn()
  const answers = await Promise.all([writer.completion(zombie, 1, completionOf(intent)), writer.intent(zombie, 1, intentOf('x')), writer.record(zombie, 1, { name: 'n', value: '1' }), writer.renew(zombie, 1), writer.finish(zombie, 1, { status: 'done' })])
  expect(answers.map((answer) => answer.outcome)).toEqual(Array(5).fill('fenced'))
})

test('a completion somebody else has decided otherwise is not “recorded”, even under its own token', async () => {
  const zombie = await held()
  const intent = await started(stage, zombie, 'k')
  await endLease(stage, zombie)
  const by = await claim(stage, zombie.runId, 1)
  await settleAction(stage.ledger, by, 'k', { verdict: 'not_applied', by: 'verify' })
  expect(await writerOn().completion(zombie, 1, completionOf(intent))).toEqual({ outcome: 'fenced' })
})

test('a completion whose action went into doubt meanwhile is refused, not written again for ever', async () => {
  const by = await held()
  const intent = await started(stage, by, 'k')
  await settleAction(stage.ledger, by, 'k', { verdict: 'in_doubt', by: 'worker' })
  expect(await writerOn().completion(by, by.epoch, completionOf(intent))).toMatchObject({ outcome: 'refused', action: { status: 'in_doubt' } })
})

test('after a refused completion nothing of that attempt is written: neither the intent it came with nor later ones', async () => {
  const by = await held()
  await started(stage, by, 'read')
  const writer = writerOn()
  const wrong = writer.completion(by, by.epoch, completionOf({ key: 'read', token: newId() }))
  const riding = writer.intent(by, by.epoch, intentOf('pay'))
  expect((await wrong).outcome).toBe('refused')
  expect(await riding).toEqual({ outcome: 'fenced' })
  expect(await writer.intent(by, by.epoch, intentOf('pay'))).toEqual({ outcome: 'fenced' })
  expect(await writer.finish(by, by.epoch, { status: 'done' })).toEqual({ outcome: 'fenced' })
  expect(await stage.value('select count(*)::int from pawl.actions where run_id = $1', [by.runId])).toBe(1)
})

test('a finish with something open says so; a finish enqueued with an intent comes after it', async () => {
  const by = await held()
  const writer = writerOn()
  const intent = intentOf('k')
  const [sent, ended] = await Promise.all([writer.intent(by, by.epoch, intent), writer.finish(by, by.epoch, { status: 'done' })])
  expect([sent.outcome, ended.outcome]).toEqual(['sent', 'open'])
  const [recorded, done] = await Promise.all([writer.completion(by, by.epoch, completionOf(intent)), writer.finish(by, by.epoch, { status: 'done', result: '"r"' })])
  expect([recorded.outcome, done.outcome]).toEqual(['recorded', 'finished'])
  expect((await itemNow(stage, by)).status).toBe('done')
})

test('renewals and a finish of one item are one row of the flush: the finish is never lost to a renewal (hole 11d)', async () => {
  const by = await held()
  const flushes: number[] = []
  const writer = writerOn(stage.ledger, { onFlush: ({ items }) => flushes.push(items) })
  const answers = await Promise.all([writer.renew(by, by.epoch), writer.finish(by, by.epoch, { status: 'done', result: '1' }), writer.renew(by, by.epoch)])
  expect(answers.map((answer) => answer.outcome)).toEqual(['held', 'finished', 'held'])
  expect(flushes).toEqual([1])
  expect(await itemNow(stage, by)).toMatchObject({ status: 'done', result: '1', lease_until: null })
})

test('a key that exists comes back with its row', async () => {
  const runId = await runOf(stage, 2)
  const owner = await claim(stage, runId, 1)
  await committed(stage, owner, 'k')
  const other = await claim(stage, runId, 2)
  expect(await writerOn().intent(other, other.epoch, intentOf('k'))).toMatchObject({ outcome: 'exists', action: { item_seq: 1, status: 'committed', result: '"ok"' } })
})

test('1,000 racing intents on one key have one winner; every loser gets its row (case 56)', async () => {
  const runId = await runOf(stage, 1_000)
  await stage.rows(`update pawl.items set status = 'in_progress', epoch = 1, lease_until = clock_timestamp() + interval '1 minute' where run_id = $1`, [runId])
  const writers = Array.from({ length: 8 }, () => writerOn(stage.another()))
  const tokens: string[] = []
  const answers = await Promise.all(Array.from({ length: 1_000 }, (_, i) => {
    const intent = intentOf('the-key')
    tokens.push(intent.token)
    return writers[i % 8]!.intent({ runId, seq: i + 1 }, 1, intent)
  }))
  const winners = answers.flatMap((answer, i) => (answer.outcome === 'sent' ? [tokens[i]] : []))
  expect(winners).toHaveLength(1)
  const losers = answers.filter((answer) => answer.outcome === 'exists')
  expect(losers).toHaveLength(999)
  expect(new Set(losers.map((loser) => loser.action.token))).toEqual(new Set(winners))
})

test('a poisoned row hurts its own item only, and all of that item’s batch: split by item, never by row (hole 20)', async () => {
  const runId = await runOf(stage, 3)
  const all = await Promise.all([1, 2, 3].map((seq) => claim(stage, runId, seq)))
  const intents = await Promise.all(all.map((by) => started(stage, by, `k${by.seq}`)))
  const writer = writerOn()
  const ends = await Promise.allSettled(all.flatMap((by, i) => [
    writer.completion(by, by.epoch, completionOf(intents[i]!, { result: i === 1 ? 'nul \u0000' : '"fine"' })),
    writer.intent(by, by.epoch, intentOf(`next${by.seq}`)),
  ]))
  expect(ends.map((end) => end.status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected', 'fulfilled', 'fulfilled'])
  // By row, the intent that rests on the poisoned completion would have passed alone.
  expect(await stage.value('select string_agg(key, $2 order by key) from pawl.actions where run_id = $1', [runId, ','])).toBe('k1,k2,k3,next1,next3')
  expect((await actionNow(stage, runId, 'k2')).status).toBe('started')
})

test('while a completion waits for a busy row the next intent of its item is not acknowledged (hole 19)', async () => {
  const by = await held()
  const read = await started(stage, by, 'read', { effect: 'read' })
  const holding = stage.session()
  await holding.query('begin')
  await holding.query('select 1 from pawl.items where run_id = $1 for update', [by.runId])
  const order: string[] = []
  let flushes = 0
  const writer = writerOn(stage.ledger, { onFlush: () => { flushes++ } })
  const completing = writer.completion(by, by.epoch, completionOf(read)).then((answer) => order.push(`completion ${answer.outcome}`))
  await until('the completion was on the wire and found its row busy', () => flushes >= 2)
  const paying = writer.intent(by, by.epoch, intentOf('pay|100')).then((answer) => order.push(`intent ${answer.outcome}`))
  const neighbour = await held()
  expect((await writer.renew(neighbour, neighbour.epoch)).outcome).toBe('held')
  expect(order).toEqual([])
  await holding.query('rollback')
  await Promise.all([completing, paying])
  expect(order.toSorted()).toEqual(['completion recorded', 'intent sent'])
})

test('a lost acknowledgement of an intent, a completion, a record and a finish is resolved by token: nothing twice', async () => {
  const proxy = await startCuttingProxy(stage.url)
  const ledger = new Ledger({ url: proxy.url, name: uniqueName(), connections: 1 })
  const writer = writerOn(ledger, { retryMs: 10 })
  const by = await held()
  await writer.renew(by, by.epoch) // connected
  const intent = intentOf('k')
  const steps: (() => Promise<{ outcome: string }>)[] = [
    () => writer.intent(by, by.epoch, intent),
    () => writer.completion(by, by.epoch, completionOf(intent)),
    () => writer.record(by, by.epoch, { name: 'n', value: '1' }),
    () => writer.finish(by, by.epoch, { status: 'failed', isFailure: true, error: '"e"' }),
  ]
  const outcomes: string[] = []
  for (const step of steps) {
    const lost = proxy.loseNextAnswer()
    const [answer] = await Promise.all([step(), lost])
    outcomes.push(answer.outcome)
  }
  expect(outcomes).toEqual(['sent', 'recorded', 'held', 'finished'])
  expect(proxy.lost).toBe(4)
  expect(await actionNow(stage, by.runId, 'k')).toMatchObject({ status: 'committed', sends: 1, attempt: 1, token: intent.token })
  expect(await itemNow(stage, by)).toMatchObject({ status: 'failed', failures: 1 })
  writer.close()
  await Promise.all([ledger.close(), proxy.close()])
})

test('a backend killed before its statement could commit: the same token is written again, once (hole 16)', async () => {
  const by = await held()
  const holding = stage.session()
  await holding.query('begin')
  await holding.query(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, timeout_ms, settle_ms) values ($1, 99, 'k', 't', '1', 'read', 'started', 1, '1', 'd', 1, 1)`, [by.runId])
  const name = uniqueName()
  const writer = writerOn(stage.another({ name }), { retryMs: 10 })
  const intent = intentOf('k')
  const sending = writer.intent(by, by.epoch, intent)
  await stage.waits(name)
  expect(await stage.rows('select pg_terminate_backend(pid) as done from pg_stat_activity where application_name = $1', [name])).toEqual([{ done: true }])
  await until('it writes again', async () => (await stage.value<number>(`select count(*)::int from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'`, [name])) === 1)
  await holding.query('rollback')
  expect(await sending).toMatchObject({ outcome: 'sent' })
  expect(await stage.value(`select count(*)::int from pawl.actions where run_id = $1 and key = 'k' and token = $2`, [by.runId, intent.token])).toBe(1)
})

test('a connection that died while its old backend still works: “not there” is not believed, the write comes again and finds its own row (hole 16)', async () => {
  const proxy = await startCuttingProxy(stage.url)
  const name = uniqueName()
  const ledger = new Ledger({ url: proxy.url, name, connections: 1 })
  const writer = writerOn(ledger, { retryMs: 10 })
  const by = await held()
  await writer.renew(by, by.epoch)
  const holding = stage.session()
  await holding.query('begin')
  await holding.query(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, timeout_ms, settle_ms) values ($1, 99, 'k', 't', '1', 'read', 'started', 1, '1', 'd', 1, 1)`, [by.runId])
  const intent = intentOf('k')
  const sending = writer.intent(by, by.epoch, intent)
  await stage.waits(name)
  proxy.shut() // the client is gone, the backend waits on
  expect(await stage.value(`select count(*)::int from pawl.actions where run_id = $1 and key = 'k'`, [by.runId])).toBe(0) // what the naive reader would believe
  proxy.open()
  await holding.query('rollback')
  expect(await sending).toMatchObject({ outcome: 'sent' })
  expect(await actionNow(stage, by.runId, 'k')).toMatchObject({ token: intent.token, sends: 1, item_seq: 1 })
  writer.close()
  await Promise.all([ledger.close(), proxy.close()])
})

test('while Postgres is away the writer keeps its rows, in order, and writes them when it is back', async () => {
  const proxy = await startCuttingProxy(stage.url)
  const ledger = new Ledger({ url: proxy.url, name: uniqueName(), connections: 2 })
  const writer = writerOn(ledger, { retryMs: 10 })
  const by = await held()
  const intent = await started(stage, by, 'k')
  await writer.renew(by, by.epoch)
  proxy.shut()
  let isAnswered = false
  const answers = Promise.all([writer.completion(by, by.epoch, completionOf(intent)), writer.intent(by, by.epoch, intentOf('next')), writer.record(by, by.epoch, { name: 'n', value: '1' })]).finally(() => { isAnswered = true })
  // A statement over the same door fails while it is shut, so the writer has been through several tries.
  for (let n = 0; n < 5; n++) await expect(ledger.query('select 1')).rejects.toMatchObject({ code: 'LEDGER_UNREACHABLE', next: 'retry' })
  const more = writer.renew(by, by.epoch)
  expect(isAnswered).toBe(false)
  proxy.open()
  expect((await answers).map((answer) => answer.outcome)).toEqual(['recorded', 'sent', 'held'])
  expect((await more).outcome).toBe('held')
  writer.close()
  await Promise.all([ledger.close(), proxy.close()])
})

test('a closed writer rejects what waits, also what a dead ledger would send back to the queue', async () => {
  const ledger = new Ledger({ url: 'postgres://nobody@127.0.0.1:1/none', name: uniqueName() })
  let tries = 0
  const query = ledger.query.bind(ledger)
  ledger.query = async (...args: Parameters<typeof query>) => { tries++; return await query(...args) as never }
  const writer = writerOn(ledger, { retryMs: 10 })
  const by = await held()
  const waiting = writer.renew(by, by.epoch)
  const refused = expect(waiting).rejects.toThrow(/closed/)
  await until('it tried', () => tries > 1)
  writer.close()
  await refused
  await expect(writer.renew(by, by.epoch)).rejects.toThrow(/closed/)
  await ledger.close()
})

test('a flush with a finish and one written again by hand agree: the second is fenced by status', async () => {
  const by = await held()
  await flushOne(stage.ledger, by, { finish: { status: 'done', result: '1' } })
  expect((await flushOne(stage.ledger, by, { finish: { status: 'done', result: '2' } })).locked.size).toBe(0)
  expect((await itemNow(stage, by)).result).toBe('1')
})

test('a turn rides with the intents enqueued after it in the same tick: one statement, and no intent is durable before it', async () => {
  const by = await held()
  const flushes: number[] = []
  const writer = writerOn(stage.ledger, { onFlush: ({ items }) => flushes.push(items) })
  const answers = await Promise.all([writer.turn(by, by.epoch, turnOf(1)), writer.intent(by, by.epoch, intentOf('a', { turn: 1 })), writer.intent(by, by.epoch, intentOf('b', { turn: 1 })), writer.finish(by, by.epoch, { status: 'done' })])
  expect(answers.map((answer) => answer.outcome)).toEqual(['recorded', 'sent', 'sent', 'open'])
  expect(flushes[0]).toBe(1)
  expect(await stage.value('select count(*)::int from pawl.actions where run_id = $1 and turn = 1', [by.runId])).toBe(2)
  expect((await writer.turn(by, by.epoch - 1, turnOf(2))).outcome).toBe('fenced')
})

test('a lost acknowledgement of a turn and its intents is resolved by the rows: recorded once, counted once, sent once', async () => {
  const proxy = await startCuttingProxy(stage.url)
  const ledger = new Ledger({ url: proxy.url, name: uniqueName(), connections: 1 })
  const writer = writerOn(ledger, { retryMs: 10 })
  const by = await held()
  await writer.renew(by, by.epoch)
  const intent = intentOf('k', { turn: 1 })
  const lost = proxy.loseNextAnswer()
  const [turned, sent] = await Promise.all([writer.turn(by, by.epoch, turnOf(1)), writer.intent(by, by.epoch, intent), lost])
  expect([turned.outcome, sent.outcome, proxy.lost]).toEqual(['recorded', 'sent', 1])
  expect(await actionNow(stage, by.runId, 'k')).toMatchObject({ token: intent.token, sends: 1, turn: 1 })
  expect(await itemNow(stage, by)).toMatchObject({ tokens_used: '15', cost_micros: '7' })
  expect(await stage.value('select count(*)::int from pawl.turns where run_id = $1', [by.runId])).toBe(1)
  writer.close()
  await Promise.all([ledger.close(), proxy.close()])
})

test('a turn number that holds another decision is refused with the row, and nothing that attempt wants after it is written', async () => {
  const by = await held()
  const writer = writerOn()
  await writer.turn(by, by.epoch, turnOf(1))
  const [turned, sent] = await Promise.all([writer.turn(by, by.epoch, turnOf(1, { decision: '"another"' })), writer.intent(by, by.epoch, intentOf('k', { turn: 1 }))])
  expect(turned).toMatchObject({ outcome: 'exists', turn: { n: 1, decision: '"turn 1"' } })
  expect(sent).toEqual({ outcome: 'fenced' })
  expect(await writer.finish(by, by.epoch, { status: 'done' })).toEqual({ outcome: 'fenced' })
  expect(await stage.value('select count(*)::int from pawl.actions where run_id = $1', [by.runId])).toBe(0)
})
