/** What users install: everything they write agents and services with. Ready-made tools, and adapters for MCP servers and the AI SDK, are under `pawl/tools` (each part alone: `pawl/tools/*`). */
export {
  createClient, type Action, type AgentContract, type Approval, type ApprovalDecision, type Bulk, type BulkRequest, type ClientOptions, type DoubtSettlement, type ExportLine, type Fleet, type InboxItem, type Item, type Page,
  type PawlClient, type Preview, type Progress, type Question, type Run, type RunEvent, type RunsFilter, type StartedRun, type StartOptions, type StreamHeader, type VerbAnswer,
} from '@pawl/client'
export { NotApplied, PawlError, Rejected, ToolFailed } from '@pawl/core'
export { agentLoop, defineAgent, defineConfig, type Agent, type AgentContext, type AgentDefinition, type ItemOutcome, type ItemSeed, type LoopOptions, type PawlConfig, type Prices, type RunFacts, type ToolCalls, type TurnDelta, type TurnPlace } from '@pawl/harness'
export { applied, defineTool, notApplied, unknown, type ExecuteContext, type Tool, type ToolDefinition, type ToolTransaction, type TransactionalContext, type Verdict, type VerifyContext } from '@pawl/tools'
