/** What requests may hold; strict, so that a misspelt member is named and not ignored. */
import { budgetFields, bulkVerbs, doubtAnswers } from '@pawl/client'
import { BLOCKED_REASONS, FAILURE_POLICIES, RUN_STATUSES } from '@pawl/core'
import { z } from 'zod'

export const startFields = {
  agent: z.string(),
  version: z.string().optional(),
  input: z.unknown().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  policy: z.strictObject({
    onFailure: z.enum(FAILURE_POLICIES).optional(), maxFailures: z.number().int().min(1).optional(), maxConcurrency: z.number().int().min(1).optional(),
    budget: budgetFields.run, itemBudget: budgetFields.item,
    approval: z.strictObject({ expiresMs: z.number().int().min(1).optional(), notByRequester: z.boolean().optional() }).optional(),
  }).optional(),
}

export const startBody = z.strictObject({ ...startFields, items: z.array(z.strictObject({ key: z.string(), payload: z.unknown().optional() })).optional() })
export const verbBody = z.strictObject({ reason: z.string().max(2_000).optional() })
export const budgetBody = z.strictObject({ ...budgetFields, note: z.string().max(2_000).optional() })
export const repinBody = z.strictObject({ to: z.string().max(100), dryRun: z.boolean().optional(), force: z.boolean().optional(), reason: z.string().max(2_000).optional() })
export const settleBody = z.strictObject({
  answer: z.enum(doubtAnswers), result: z.unknown().optional(), attempt: z.number().int().min(1), evidence: z.number().int().min(0), note: z.string().max(2_000).optional(),
})
export const answerBody = z.strictObject({ answer: z.unknown(), note: z.string().max(2_000).optional() })
const shownCalls = z.array(z.strictObject({ actionId: z.number().int(), digest: z.string().max(200) })).max(1_000).optional()
export const decisionsBody = z.strictObject({ approve: shownCalls, reject: shownCalls, note: z.string().max(2_000).optional() })
export const decisionBody = z.strictObject({ digest: z.string().max(200), note: z.string().max(2_000).optional() })
export const releaseBody = z.strictObject({
  note: z.string().max(2_000).optional(), newCalls: z.boolean().optional(), shown: z.strictObject({ attempts: z.number().int().min(0), reason: z.enum(BLOCKED_REASONS) }).optional(),
})

const moment = z.iso.datetime({ offset: true }).transform((text) => new Date(text))
const status = z.enum(RUN_STATUSES)
export const bulkBody = z.strictObject({
  verb: z.enum(bulkVerbs), reason: z.string().max(2_000).optional(), runIds: z.array(z.string()).max(1_000).optional(),
  filter: z.strictObject({
    agent: z.string().max(200).optional(), status: z.union([status, z.array(status)]).optional(), labels: z.record(z.string(), z.string()).optional(), search: z.string().min(1).max(300).optional(),
    createdAfter: moment.optional(), createdBefore: moment.optional(), paused: z.boolean().optional(),
  }).optional(),
})

const number = z.string().regex(/^\d{1,15}$/, 'must be a whole number').transform(Number)
export const pageQuery = { cursor: z.string().max(500).optional(), limit: number.pipe(z.number().min(1).max(1_000)).optional() }
export const numberText = number
export const dryRunQuery = z.strictObject({ dryRun: z.enum(['true', 'false']).optional() })
export const runParams = z.object({ run: z.string() })
