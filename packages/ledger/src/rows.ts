/** Rows as the verbs' JSON answers give them: snake case, times as ISO text, exactly the columns of `schema.ts`. Parsed here, where data enters. */
import { ACTION_STATUSES, APPROVAL_STATUSES, BLOCKED_REASONS, EFFECTS, ITEM_KINDS, ITEM_STATUSES, QUESTION_STATUSES, RUN_STATUSES } from '@pawl/core'
import { z } from 'zod'

export const actionRow = z.object({
  run_id: z.string(), id: z.number(), order_no: z.number(), item_seq: z.number(), key: z.string(), tool: z.string(), tool_version: z.string(),
  effect: z.enum(EFFECTS), status: z.enum(ACTION_STATUSES), attempt: z.number(), epoch: z.number(), token: z.string().nullable(),
  sends: z.number(), refused: z.number(), args: z.string(), args_digest: z.string(), result: z.string().nullable(),
  evidence: z.array(z.string()), applied_evidence: z.string().nullable(), error: z.string().nullable(), undo: z.string().nullable(),
  undoes: z.number().nullable(), turn: z.number().nullable(), approval_id: z.number().nullable(), staged_by: z.number().nullable(), settled_by: z.string().nullable(), timeout_ms: z.number(), settle_ms: z.number(),
  key_window_ms: z.number().nullable(), key_expires_at: z.string().nullable(), answerable_at: z.string().nullable(), started_at: z.string(), committed_at: z.string().nullable(),
})
export type ActionRow = z.infer<typeof actionRow>

export const approvalRow = z.object({
  run_id: z.string(), id: z.number(), action_id: z.number(), item_seq: z.number(), tool: z.string(), tool_version: z.string(), args_digest: z.string(), digest: z.string(),
  irreversible: z.boolean(), status: z.enum(APPROVAL_STATUSES), requested_at: z.string(), expires_at: z.string(), decided_by: z.string().nullable(), decided_at: z.string().nullable(),
  note: z.string().nullable(), consumed_at: z.string().nullable(),
})
export type ApprovalRow = z.infer<typeof approvalRow>

export const recordRow = z.object({ name: z.string(), order_no: z.number(), value: z.string() })
export type RecordRow = z.infer<typeof recordRow>

export const turnRow = z.object({
  n: z.number(), order_no: z.number(), epoch: z.number(), model_version: z.string(), prompt_version: z.string(), decision: z.string(),
  input_tokens: z.number(), output_tokens: z.number(), cost_micros: z.number(), at: z.string(),
})
export type TurnRow = z.infer<typeof turnRow>

export const questionRow = z.object({
  run_id: z.string(), id: z.number(), item_seq: z.number(), key: z.string(), order_no: z.number(), question: z.string(), answer_schema: z.string(),
  status: z.enum(QUESTION_STATUSES), answer: z.string().nullable(), asked_at: z.string(), answered_by: z.string().nullable(), answered_at: z.string().nullable(),
})
export type QuestionRow = z.infer<typeof questionRow>

export const itemRow = z.object({
  run_id: z.string(), seq: z.number(), kind: z.enum(ITEM_KINDS), key: z.string(), payload: z.string(), status: z.enum(ITEM_STATUSES),
  blocked_reason: z.enum(BLOCKED_REASONS).nullable(), attempts: z.number(), failures: z.number(), barren_attempts: z.number(), epoch: z.number(),
  generation: z.number(), schema_version: z.number().nullable().default(null), tokens_used: z.number(), cost_micros: z.number(), started_at: z.string().nullable(), allow_new_calls: z.boolean(), result: z.string().nullable(), error: z.string().nullable(),
  dispatched_at: z.string().nullable().default(null), lease_until: z.string().nullable().default(null),
})
export type ItemRow = z.infer<typeof itemRow>

/** What may be spent: turns, tokens (input and output), cost in the currency of the loop's prices, milliseconds since the start. */
export const budgetLimits = z.object({
  turns: z.number().int().min(1).optional(), tokens: z.number().int().min(1).optional(), cost: z.number().positive().optional(), wallMs: z.number().int().min(1).optional(),
})
export type BudgetLimits = z.infer<typeof budgetLimits>

export const runPolicy = z.object({
  onFailure: z.enum(['hold', 'complete', 'compensate']).default('hold'),
  maxFailures: z.number().int().min(1).optional(),
  maxConcurrency: z.number().int().min(1).optional(),
  approval: z.object({
    /** How long a request waits for a person, in milliseconds. */
    expiresMs: z.number().int().min(1).optional(),
    /** Who started the run may not say yes to its calls. */
    notByRequester: z.boolean().optional(),
  }).optional(),
  /** Of the run, all its items together. */
  budget: budgetLimits.optional(),
  /** Of each item: overrides what its loop says. */
  itemBudget: budgetLimits.optional(),
})
export type RunPolicy = z.infer<typeof runPolicy>

/** By tool name: what the run began with. */
export const toolPins = z.record(z.string(), z.object({ version: z.string(), format: z.string() }))

export const runRow = z.object({
  id: z.string(), namespace: z.string(), agent: z.string(), agent_version: z.string(), model_version: z.string().nullable(), prompt_version: z.string().nullable(),
  schema_version: z.number(), lock_digest: z.string().nullable(), tools: toolPins.nullable().default(null), input: z.string(), labels: z.record(z.string(), z.string()), policy: runPolicy,
  status: z.enum(RUN_STATUSES), paused: z.boolean(), created_by: z.string(), items_total: z.number(), ending: z.number(), result: z.string().nullable(), error: z.string().nullable(),
  trace_parent: z.string().nullable().default(null),
})
export type RunRow = z.infer<typeof runRow>
