/**
 * The vocabulary: every status, kind and reason the product has, written once.
 * SQL, docs, pages and errors use these strings; nothing else may invent a state.
 */
export const EFFECTS = ['read', 'idempotent', 'non-idempotent', 'transactional'] as const
export type Effect = (typeof EFFECTS)[number]

export const RUN_STATUSES = [
  'splitting', 'running', 'finalizing', 'completed', 'completed_with_failures', 'failed', 'cancelled',
  'compensating', 'compensated', 'compensated_with_residue',
] as const
export type RunStatus = (typeof RUN_STATUSES)[number]

/** An ended run changes only by `resume` and `compensate`. */
export const ENDED_RUN_STATUSES = [
  'completed', 'completed_with_failures', 'failed', 'cancelled', 'compensated', 'compensated_with_residue',
] as const satisfies readonly RunStatus[]

export const ITEM_KINDS = ['work', 'split', 'finalize', 'compensate', 'settle'] as const
export type ItemKind = (typeof ITEM_KINDS)[number]

export const ITEM_STATUSES = ['pending', 'in_progress', 'blocked', 'done', 'failed', 'cancelled', 'compensated'] as const
export type ItemStatus = (typeof ITEM_STATUSES)[number]

/** Worst first: an item with several reasons shows the first of them. */
export const BLOCKED_REASONS = [
  'in_doubt', 'conflict', 'diverged', 'undo', 'crash_loop', 'tool_output', 'tool_input', 'approval', 'question', 'budget',
  'version', 'key',
] as const
export type BlockedReason = (typeof BLOCKED_REASONS)[number]

export const ACTION_STATUSES = [
  'started', 'committed', 'failed', 'in_doubt', 'abandoned', 'awaiting_approval', 'rejected', 'staged', 'discarded', 'compensated',
] as const
export type ActionStatus = (typeof ACTION_STATUSES)[number]

/** `void`: its run was cancelled or compensated before anybody answered. */
export const QUESTION_STATUSES = ['open', 'answered', 'void'] as const
export type QuestionStatus = (typeof QUESTION_STATUSES)[number]

/** Of one request for a person's yes. `void`: the call is no longer to be made as it was asked for. */
export const APPROVAL_STATUSES = ['open', 'approved', 'rejected', 'expired', 'void'] as const
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number]

/** What a run does when everything was tried and some items failed. Compensation is never a default. */
export const FAILURE_POLICIES = ['hold', 'complete', 'compensate'] as const
export type FailurePolicy = (typeof FAILURE_POLICIES)[number]

export const isEndedRun = (status: RunStatus): boolean => (ENDED_RUN_STATUSES as readonly RunStatus[]).includes(status)
