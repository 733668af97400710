/** Ledger views as callers see them: this is the border where encoded text becomes values. */
import { decode } from '@pawl/core'
import type { ActionView, ApprovalView, InboxEntry, ItemView, QuestionView, RunView } from '@pawl/ledger'
import { z } from 'zod'
import type { Action, Approval, InboxItem, Item, Question, Run } from './wire.ts'

const valueOf = (text: string | null): unknown => (text === null ? null : decode(text))

const errorText = z.object({ name: z.string(), message: z.string(), code: z.string().optional() })

function errorOf(text: string | null): Run['error'] {
  if (text === null) return null
  try {
    return errorText.parse(JSON.parse(text))
  } catch {
    return { name: 'Error', message: text }
  }
}

export const runOf = (view: RunView): Run => ({
  ...view, labels: { ...view.labels }, policy: { ...view.policy }, input: valueOf(view.input), result: valueOf(view.result), error: errorOf(view.error),
  blockedReasons: { ...view.blockedReasons },
})

export const itemOf = (view: ItemView): Item => ({
  ...view, payload: valueOf(view.payload), result: valueOf(view.result), error: errorOf(view.error), blockedDetail: valueOf(view.blockedDetail),
})

export const actionOf = (view: ActionView): Action => ({
  ...view, args: valueOf(view.args), result: valueOf(view.result), evidence: view.evidence.map(valueOf), appliedEvidence: valueOf(view.appliedEvidence),
  undo: valueOf(view.undo), error: errorOf(view.error),
})

const schemaText = z.record(z.string(), z.unknown())

export const questionOf = (view: QuestionView): Question => ({ ...view, answerSchema: schemaText.parse(JSON.parse(view.answerSchema)), answer: valueOf(view.answer) })

export const approvalOf = (view: ApprovalView): Approval => ({ ...view, args: valueOf(view.args), argsText: view.args })

export function inboxOf(entry: InboxEntry): InboxItem {
  switch (entry.kind) {
    case 'in_doubt': return { ...entry, action: actionOf(entry.action), answers: [...entry.answers] }
    case 'approval': return { ...entry, approval: approvalOf(entry.approval) }
    case 'question': return { ...entry, question: questionOf(entry.question) }
    case 'blocked': return { ...entry, detail: valueOf(entry.detail), verbs: [...entry.verbs] }
  }
}
