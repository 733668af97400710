import { APPROVAL_STATUSES, EFFECTS, type ApprovalStatus, type Effect } from '@pawl/core'
import { z } from 'zod'
import { actions, approvals } from '../schema.ts'

/** One request for a person's yes, with the call it is about. */
export interface ApprovalView {
  readonly runId: string
  readonly id: number
  /** Named in the answer, with the digest. */
  readonly actionId: number
  /** Of tool, version and arguments, as they are shown here. */
  readonly digest: string
  readonly itemSeq: number
  readonly tool: string
  readonly toolVersion: string
  readonly effect: Effect
  readonly key: string
  /** Encoded, as they will be sent, and whole whatever their size: nobody says yes to what was left out. */
  readonly args: string
  readonly irreversible: boolean
  /** True: the call was held back to the end of the run. */
  readonly isStaged: boolean
  /** Sends of the call so far, each proved not applied. */
  readonly sends: number
  readonly status: ApprovalStatus
  readonly requestedAt: Date
  readonly expiresAt: Date
}

export const approvalColumns = {
  runId: approvals.runId, id: approvals.id, actionId: approvals.actionId, digest: approvals.digest, itemSeq: approvals.itemSeq, tool: approvals.tool, toolVersion: approvals.toolVersion,
  effect: actions.effect, key: actions.key, args: actions.args, irreversible: approvals.irreversible, stagedBy: actions.stagedBy, sends: actions.sends,
  status: approvals.status, requestedAt: approvals.requestedAt, expiresAt: approvals.expiresAt,
}
const words = z.object({ effect: z.enum(EFFECTS), status: z.enum(APPROVAL_STATUSES) })

export const approvalView = <R extends { effect: string; status: string; stagedBy: number | null }>({ stagedBy, ...row }: R): Omit<R, 'stagedBy'> & z.infer<typeof words> & { isStaged: boolean } =>
  ({ ...row, ...words.parse(row), isStaged: stagedBy !== null })
