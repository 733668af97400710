import { afterAll, beforeAll, expect, test } from 'vitest'
import { auditLedger } from '../audit/audit-ledger.ts'
import { claim, committed, itemNow, openStage, runOf, type Claimed, type Session, type Stage } from '../stage.testsuite.ts'
import { getQuestion } from '../reads/get-question.ts'
import { listInbox } from '../reads/list-inbox.ts'
import { blockItem, releaseItem, wakeItems } from './items.ts'
import { answerQuestion, askQuestion } from './questions.ts'
import { cancelRun, resumeRun, startCompensation } from './runs.ts'

let stage: Stage
beforeAll(async () => { stage = await openStage() })
afterAll(async () => { await stage.close() })

const boolean = '{"type":"boolean"}'
const ask = (by: Claimed, text = 'Go on?', key = '1', answerSchema = boolean) => askQuestion(stage.ledger, by, { key, text, answerSchema })
const answer = (runId: string, id: number, value = 'true', actor = 'ann') => answerQuestion(stage.ledger, runId, id, { value, actor })
const eventsOf = (runId: string, kind: string) => stage.value<number>('select count(*)::int from pawl.events where run_id = $1 and kind = $2', [runId, kind])

/** A held item with one open question. */
async function asking(): Promise<Claimed & { question: number }> {
  const by = await claim(stage, await runOf(stage, 1), 1)
  return { ...by, question: (await ask(by)).question?.id ?? -1 }
}
const park = (by: { question: number } & Claimed) => blockItem(stage.ledger, by, 'question', { question: by.question })
const parkIn = (session: Session, by: { question: number } & Claimed) =>
  session.query('select pawl.block_item($1, $2, $3, $4, $5)', [by.runId, by.seq, by.epoch, 'question', JSON.stringify({ question: by.question })])
const sayIn = (session: Session, by: { question: number } & Claimed) => session.query('select outcome from pawl.answer_question($1, $2, $3, $4, null)', [by.runId, by.question, 'true', 'ann'])

test('asked again in the same words it is the same question; in other words, or for another kind of answer, nothing changes', async () => {
  const by = await asking()
  expect(await ask(by)).toMatchObject({ outcome: 'open', question: { id: by.question, key: '1', status: 'open' } })
  for (const other of [await ask(by, 'Stop?'), await ask(by, 'Go on?', '1', '{"type":"string"}')]) {
    expect(other).toMatchObject({ outcome: 'conflict', question: { id: by.question, question: 'Go on?', answer_schema: boolean, status: 'open' } })
  }
  expect(await ask(by, 'Stop?', '2')).toMatchObject({ outcome: 'open', question: { key: '2' } })
  expect(await eventsOf(by.runId, 'question.asked')).toBe(2)
})

test('a stale epoch cannot ask', async () => {
  const by = await claim(stage, await runOf(stage, 1), 1)
  expect(await ask({ ...by, epoch: by.epoch - 1 })).toEqual({ outcome: 'fenced', question: null })
  expect(await stage.value('select count(*)::int from pawl.questions where run_id = $1', [by.runId])).toBe(0)
})

test('of 20 answers at once one is written; the others are told whose and when; the same answer by the same person again is that answer', async () => {
  const by = await asking()
  await park(by)
  const outcomes = await Promise.all(Array.from({ length: 20 }, (_, n) => answer(by.runId, by.question, String(n % 2 === 0), `person-${n}`)))
  const first = outcomes.filter((one) => one.outcome === 'answered')
  expect(first).toHaveLength(1)
  const row = first[0]?.question
  for (const one of outcomes.filter((each) => each.outcome !== 'answered')) expect(one).toMatchObject({ outcome: 'taken', question: { answered_by: row?.answered_by, answered_at: row?.answered_at, answer: row?.answer } })
  expect(await answer(by.runId, by.question, row?.answer ?? '', row?.answered_by ?? '')).toEqual(first[0])
  expect((await answer(by.runId, by.question, 'null', row?.answered_by ?? '')).outcome).toBe('taken')
  expect(await eventsOf(by.runId, 'question.answered')).toBe(1)
})

test('the answer that comes while an item is parking waits for it, and the item is awake afterwards (hole 1)', async () => {
  const by = await asking()
  const worker = stage.session()
  await worker.query('begin')
  expect(await parkIn(worker, by)).toEqual([{ block_item: 'blocked' }])
  const said = sayIn(stage.session('answers-after'), by)
  await stage.waits('answers-after')
  await worker.query('commit')
  expect(await said).toEqual([{ outcome: 'answered' }])
  expect(await wakeItems(stage.ledger, by.runId)).toEqual([by.runId])
  expect(await itemNow(stage, by)).toMatchObject({ status: 'pending', blocked_reason: null, dispatched_at: null })
})

test('the item that parks while its answer is being written waits for it, and does not park (hole 1)', async () => {
  const by = await asking()
  const person = stage.session()
  await person.query('begin')
  await sayIn(person, by)
  const parked = parkIn(stage.session('parks-after'), by)
  await stage.waits('parks-after')
  await person.query('commit')
  expect(await parked).toEqual([{ block_item: 'pending' }])
  expect(await itemNow(stage, by)).toMatchObject({ status: 'pending', blocked_reason: null })
})

test('an answer whose person died before waking anybody is found by the sweep', async () => {
  const by = await asking()
  await park(by)
  expect(await wakeItems(stage.ledger, by.runId)).toEqual([])
  await answer(by.runId, by.question)
  expect(await wakeItems(stage.ledger, null)).toContain(by.runId)
  expect((await auditLedger(stage.ledger, { runId: by.runId })).violations).toEqual([])
})

test('an early answer is kept, and the next claim brings it with the journal', async () => {
  const by = await asking()
  expect((await answer(by.runId, by.question, '"kept"')).outcome).toBe('answered')
  expect(await park(by)).toBe('pending')
  const again = await claim(stage, by.runId, 1)
  expect(again.answer.questions).toMatchObject([{ id: by.question, status: 'answered', answer: '"kept"', answered_by: 'ann' }])
  expect(await ask(again)).toMatchObject({ outcome: 'answered', question: { answer: '"kept"' } })
})

test('the inbox has it from the moment it is asked, in pages with everything else, until it is answered', async () => {
  const runId = await runOf(stage, 3)
  const items = [await claim(stage, runId, 1), await claim(stage, runId, 2), await claim(stage, runId, 3)] as const
  const ids = [(await ask(items[0])).question?.id, (await ask(items[0], 'And?', '2')).question?.id, (await ask(items[1])).question?.id]
  await blockItem(stage.ledger, items[0], 'question', { question: ids[0] })
  await blockItem(stage.ledger, items[2], 'diverged', {})
  const all = await listInbox(stage.ledger, { namespace: null, runId })
  expect(all.entries).toMatchObject([...ids.map((id) => ({ kind: 'question', question: { id } })), { kind: 'blocked', reason: 'diverged', itemSeq: 3 }])
  expect(all.entries[0]).toMatchObject({ agent: 'mailer', itemSeq: 1, itemKey: 'item-1', question: { question: 'Go on?', answerSchema: boolean, status: 'open', answer: null } })
  const seen = []
  for (let cursor: string | undefined, n = 0; n < 5; n++) {
    const page = await listInbox(stage.ledger, { namespace: null, runId, limit: 1, cursor })
    seen.push(...page.entries)
    if (page.cursor === null) break
    cursor = page.cursor
  }
  expect(seen).toEqual(all.entries)
  await answer(runId, ids[0] ?? -1)
  expect((await listInbox(stage.ledger, { namespace: null, runId })).entries.map((entry) => entry.kind)).toEqual(['question', 'question', 'blocked'])
})

test.each(['cancelled', 'compensating'] as const)('what a %s run left unanswered is void; nobody can answer it, and what was answered stays', async (how) => {
  const by = await asking()
  const kept = (await ask(by, 'Who?', '2', '{}')).question?.id ?? -1
  await answer(by.runId, kept, '"bob"')
  await committed(stage, by, 'k')
  await park(by)
  if (how === 'cancelled') await cancelRun(stage.ledger, by.runId, 'ann', null)
  else await startCompensation(stage.ledger, by.runId, 'ann', null)
  expect(await answer(by.runId, by.question)).toMatchObject({ outcome: 'closed', question: { status: 'void', answer: null } })
  expect(await getQuestion(stage.ledger, by.runId, kept)).toMatchObject({ status: 'answered', answer: '"bob"' })
  expect((await listInbox(stage.ledger, { namespace: null, runId: by.runId })).entries).toEqual([])
})

test('a resumed run asks again at the question’s old place in the journal, and has the answers it had', async () => {
  const by = await asking()
  const before = (await ask(by)).question
  await cancelRun(stage.ledger, by.runId, 'ann', null)
  await resumeRun(stage.ledger, by.runId, 'ann')
  const again = await claim(stage, by.runId, 1)
  expect(again.answer.questions).toMatchObject([{ id: by.question, status: 'void' }])
  expect(await ask(again)).toMatchObject({ outcome: 'open', question: { id: by.question, order_no: before?.order_no, key: '1' } })
  expect((await answer(by.runId, by.question)).outcome).toBe('answered')
})

test('a doubt comes before a question: settled, the item goes round and waits for its answer', async () => {
  const by = await asking()
  await stage.rows(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, args, args_digest, timeout_ms, settle_ms)
    values ($1, 1, 'k', 'pay', '1', 'non-idempotent', 'in_doubt', $2, '1', 'd', 1, 1)`, [by.runId, by.epoch])
  await park(by)
  expect(await itemNow(stage, by)).toMatchObject({ status: 'blocked', blocked_reason: 'in_doubt' })
  await answer(by.runId, by.question)
  expect(await wakeItems(stage.ledger, by.runId)).toEqual([])
})

test('a person answers a question, and cannot let its item go on without', async () => {
  const by = await asking()
  await park(by)
  expect((await releaseItem(stage.ledger, by.runId, 1, 'resume', { actor: 'ann' })).outcome).toBe('wrong_state')
  expect(await answer(by.runId, 999_999)).toEqual({ outcome: 'missing', question: null })
})
