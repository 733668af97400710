/** What agents ask people. */
import { newId } from '@pawl/core'
import { askQuestion, blockItem, type Ledger } from '@pawl/ledger'
import { beforeAll, describe, expect, test } from 'vitest'
import type { PawlClient } from '../contract.ts'
import { claimed, eventsOf, refused, type Opening } from './ground.testsuite.ts'

export function testQuestions(opening: Opening): void {
  describe('questions', () => {
    let client: PawlClient
    let ledger: Ledger
    let actor: string
    beforeAll(() => { ({ client, ledger, actor } = opening()) })

    /** An item that waits for the answer to one question. */
    async function asking(): Promise<{ runId: string; seq: number; questionId: number }> {
      const by = await claimed(opening())
      const { runId, seq } = by
      const schema = { type: 'object', properties: { amount: { type: 'integer', minimum: 1 } }, required: ['amount'], additionalProperties: false }
      const { question } = await askQuestion(ledger, by, { key: '1', text: 'How much?', answerSchema: JSON.stringify(schema) })
      const questionId = question?.id ?? -1
      expect(await blockItem(ledger, by, 'question', { question: questionId })).toBe('blocked')
      return { runId, seq, questionId }
    }

    test('the inbox shows a question with its JSON Schema; an answer that does not fit is refused by its member and not written; one that fits frees the item', async () => {
      const { runId, seq, questionId } = await asking()
      const { entries } = await client.inbox({ runId })
      expect(entries).toMatchObject([{ kind: 'question', runId, itemSeq: seq, itemKey: 'item-0', agent: 'stock', question: { id: questionId, question: 'How much?', status: 'open', answer: null, answerSchema: { type: 'object', required: ['amount'] } } }])
      for (const [value, path] of [[{ amount: 'ten' }, 'answer.amount'], [{ amount: 0 }, 'answer.amount'], [{ amount: 1, more: 1 }, 'answer'], ['ten', 'answer'], [undefined, 'answer']] as const) {
        expect(await refused(client.answer(runId, questionId, value))).toMatchObject({ code: 'BAD_ANSWER', message: expect.stringContaining(path) as string, details: { path } })
      }
      expect((await client.inbox({ runId })).entries).toEqual(entries)
      const answered = await client.answer(runId, questionId, { amount: 7 }, { note: 'asked Bob' })
      expect(answered).toMatchObject({ id: questionId, status: 'answered', answer: { amount: 7 }, answeredBy: actor, answeredAt: expect.any(Date) as Date })
      expect((await client.getItem(runId, seq)).status).toBe('pending')
      expect((await client.inbox({ runId })).entries).toEqual([])
      expect((await eventsOf(opening(), runId)).find((event) => event.kind === 'question.answered')).toMatchObject({ actor, itemSeq: seq, data: { question: questionId, note: 'asked Bob' } })
    })

    test('a question is answered once: the loser is told who was first and when, whatever the answer looks like', async () => {
      const { runId, questionId } = await asking()
      const first = await client.answer(runId, questionId, { amount: 1 })
      for (const value of [{ amount: 2 }, 'nonsense']) {
        expect(await refused(client.answer(runId, questionId, value))).toMatchObject({ code: 'QUESTION_ANSWERED', details: { answeredBy: actor, answeredAt: first.answeredAt?.toISOString() }, message: expect.stringContaining(actor) as string })
      }
      expect(await client.answer(runId, questionId, { amount: 1 })).toEqual(first)
    })

    test('a question of a run that has ended takes no answer, and one that is not there is named as such', async () => {
      const { runId, questionId } = await asking()
      expect((await refused(client.answer(runId, 999_999, true))).code).toBe('NOT_FOUND')
      expect((await refused(client.answer(newId(), questionId, true))).code).toBe('NOT_FOUND')
      await client.cancel(runId)
      expect(await refused(client.answer(runId, questionId, { amount: 1 }))).toMatchObject({ code: 'WRONG_STATE', details: { state: 'void' } })
    })
  })
}
