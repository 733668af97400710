export type { AgentContract, AnyAgentContract } from './agents.ts'
export type {
  ApprovalDecisions, BriefRequest, BulkRequest, DoubtSettlement, ItemSeed, Page, PageOptions, PawlClient, Progress, QueueLoad, ReleaseOptions, RepinOptions, RunPolicyRequest, RunsFilter, ShownCall, StartOptions, StreamHeader, VerbOptions,
} from './contract.ts'
export { mustHold } from './approval-verbs.ts'
export { carryOutBulks } from './bulk.ts'
export { createClient, type ClientOptions } from './create-client.ts'
export { budgetFields, type BudgetRequest } from './set-budget.ts'
export type { DirectOptions } from './direct-client.ts'
export type { HttpOptions } from './http-client.ts'
export { leftOutOf, type LeftOut } from './left-out.ts'
export { requestValues } from './request-values.ts'
export {
  actionSchema, actionToWire, approvalDecisionSchema, briefSchema, doubtAnswers, eventSchema, inboxSchema, inboxToWire, itemSchema, itemToWire, pageSchema, previewSchema, questionSchema, questionToWire,
  repinAnswerSchema, repinPreviewSchema, runSchema, runToWire,
  startedSchema, verbAnswerSchema, type Action, type Approval, type ApprovalDecision, type BriefView, type InboxItem, type Item, type Preview, type Question, type RepinAnswer, type RepinPreview, type Run, type RunEvent, type StartedRun, type VerbAnswer,
} from './wire.ts'
export {
  attemptsSchema, failuresSchema, fleetSchema, paceSchema, runCountsSchema, spentSchema, squaresSchema, toolsSchema, turnsSchema, turnsToWire,
  type Attempts, type Failures, type Fleet, type Pace, type RunCounts, type Spent, type Squares, type Tools, type Turns,
} from './wire-looks.ts'
export { bulkSchema, bulkStartedSchema, bulkVerbs, type Bulk, type BulkStarted } from './wire-bulk.ts'
export { exportLineSchema, exportLineToWire, type ExportLine } from './wire-export.ts'
