/**
 * What a caller sees, and how it travels: one schema per thing, the type of the direct client and the parser of the HTTP client.
 * Values the ledger keeps losslessly (Date, BigInt, Map, bytes) have no JSON; they travel as `{ "$encoded": text }` in the ledger's own codec.
 */
import { ACTION_STATUSES, APPROVAL_STATUSES, BLOCKED_REASONS, decode, EFFECTS, encode, ITEM_KINDS, ITEM_STATUSES, PawlError, QUESTION_STATUSES, RUN_STATUSES } from '@pawl/core'
import { z } from 'zod'

const envelope = '$encoded'

export function isEnvelope(value: unknown): value is Readonly<Record<typeof envelope, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 1 && Object.hasOwn(value, envelope)
}

/** JSON for any value of the ledger, `undefined` too: a member that is left away could not be told from one that was forgotten. A user's own object that looks like the envelope is wrapped too, so nothing is mistaken for it. */
export function toWire(value: unknown): unknown {
  const text = encode(value, { what: 'value' })
  return text.startsWith('~') || isEnvelope(value) ? { [envelope]: text } : value
}

/** The value again, as somebody trusted wrote it: of a stranger's request, `requestValues` reads it. Throws `BAD_VALUE` for an envelope that is none. */
export function fromWire(value: unknown): unknown {
  if (!isEnvelope(value)) return value
  const text = value[envelope]
  try {
    if (typeof text === 'string') return decode(text)
  } catch {
    // told below
  }
  throw new PawlError('BAD_VALUE', `An object whose only member is "${envelope}" must hold a value's encoded text there. Rename the member, or encode the value with the client.`)
}

const at = z.iso.datetime().transform((text) => new Date(text))
const value = z.unknown().transform(fromWire)
const count = z.number().int()
const errorRecord = z.object({ name: z.string(), message: z.string(), code: z.string().optional() })

export const runSchema = z.object({
  id: z.string(), namespace: z.string(), agent: z.string(), agentVersion: z.string(),
  modelVersion: z.string().nullable(), promptVersion: z.string().nullable(), schemaVersion: count, lockDigest: z.string().nullable(), status: z.enum(RUN_STATUSES), paused: z.boolean(), ending: count,
  labels: z.record(z.string(), z.string()), policy: z.record(z.string(), z.unknown()), input: value, result: value, error: errorRecord.nullable(),
  createdBy: z.string(), createdAt: at, startedAt: at.nullable(), finishedAt: at.nullable(),
  tally: z.object({ total: count, pending: count, inProgress: count, blocked: count, done: count, failed: count, cancelled: count, compensated: count }),
  open: z.object({ pending: count, inProgress: count, blocked: count }), blockedReasons: z.partialRecord(z.enum(BLOCKED_REASONS), count),
})
export type Run = z.infer<typeof runSchema>

export const itemSchema = z.object({
  runId: z.string(), seq: count, kind: z.enum(ITEM_KINDS), key: z.string(), payload: value, status: z.enum(ITEM_STATUSES),
  blockedReason: z.enum(BLOCKED_REASONS).nullable(), blockedDetail: z.unknown(), attempts: count, failures: count, epoch: count, workerId: z.string().nullable(),
  leaseUntil: at.nullable(), generation: count, dispatchedAt: at.nullable(), availableAt: at, result: value, resultRef: z.string().nullable(),
  error: errorRecord.nullable(), createdAt: at, startedAt: at.nullable(), finishedAt: at.nullable(),
})
export type Item = z.infer<typeof itemSchema>

export const actionSchema = z.object({
  runId: z.string(), id: count, orderNo: count, itemSeq: count, key: z.string(), tool: z.string(), toolVersion: z.string(), effect: z.enum(EFFECTS),
  status: z.enum(ACTION_STATUSES), attempt: count, sends: count, refused: count, args: value, result: value, evidence: z.array(value), appliedEvidence: value,
  error: errorRecord.nullable(), undo: value, undoes: count.nullable(), settledBy: z.string().nullable(), timeoutMs: count, keyExpiresAt: at.nullable(),
  answerableAt: at.nullable(), startedAt: at, committedAt: at.nullable(),
})
export type Action = z.infer<typeof actionSchema>

export const eventSchema = z.object({ runId: z.string(), id: count, itemSeq: count.nullable(), kind: z.string(), actor: z.string(), data: z.unknown(), at })
export type RunEvent = z.infer<typeof eventSchema>

export const questionSchema = z.object({
  runId: z.string(), id: count, itemSeq: count, key: z.string(), question: z.string(),
  /** JSON Schema of the answer. */
  answerSchema: z.record(z.string(), z.unknown()),
  status: z.enum(QUESTION_STATUSES), answer: value, askedAt: at, answeredBy: z.string().nullable(), answeredAt: at.nullable(),
})
export type Question = z.infer<typeof questionSchema>

export const approvalSchema = z.object({
  runId: z.string(), id: count,
  /** With the digest, what a decision names. */
  actionId: count,
  /** Of tool, version and arguments as shown here. */
  digest: z.string(),
  itemSeq: count, tool: z.string(), toolVersion: z.string(), effect: z.enum(EFFECTS), key: z.string(), args: value,
  /** The arguments as they are kept, letter for letter. */
  argsText: z.string(),
  irreversible: z.boolean(), isStaged: z.boolean(), sends: count, status: z.enum(APPROVAL_STATUSES), requestedAt: at, expiresAt: at,
})
export type Approval = z.infer<typeof approvalSchema>

export const approvalDecisionSchema = z.object({
  actionId: count,
  /** `approved`, `rejected`: now, by this request. Else nothing was changed, and why. */
  outcome: z.enum(['approved', 'rejected', 'missing', 'changed', 'decided', 'expired', 'void', 'requester']),
  tool: z.string().nullable(), digest: z.string().nullable(), status: z.enum(APPROVAL_STATUSES).nullable(), decidedBy: z.string().nullable(), decidedAt: at.nullable(), note: z.string().nullable(),
})
export type ApprovalDecision = z.infer<typeof approvalDecisionSchema>

export const doubtAnswers = ['happened', 'did_not', 'abandon'] as const
export const releaseVerbs = ['resume', 'fail'] as const

export const inboxSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('in_doubt'), runId: z.string(), agent: z.string(), itemSeq: count, itemKey: z.string(), action: actionSchema,
    answers: z.array(z.enum(doubtAnswers)), answerableAt: at.nullable(),
  }),
  z.object({ kind: z.literal('approval'), runId: z.string(), agent: z.string(), itemSeq: count, itemKey: z.string(), attempts: count, approval: approvalSchema }),
  z.object({ kind: z.literal('question'), runId: z.string(), agent: z.string(), itemSeq: count, itemKey: z.string(), question: questionSchema }),
  z.object({
    kind: z.literal('blocked'), runId: z.string(), agent: z.string(), itemSeq: count, itemKey: z.string(), itemKind: z.enum(ITEM_KINDS),
    reason: z.enum(BLOCKED_REASONS), detail: z.unknown(), attempts: count, failures: count, verbs: z.array(z.enum(releaseVerbs)),
  }),
])
export type InboxItem = z.infer<typeof inboxSchema>

const previewed = z.array(z.object({ action: count, itemSeq: count, tool: z.string(), key: z.string(), status: z.enum(ACTION_STATUSES), why: z.string() }))

/** What a verb would do, found by reading alone. */
export const previewSchema = z.object({
  dryRun: z.literal(true), verb: z.enum(['resume', 'cancel', 'compensate']), runId: z.string(), status: z.enum(RUN_STATUSES),
  /** False: the verb would be refused in this state. */
  isAllowed: z.boolean(),
  items: z.object({
    /** Failed and cancelled items that go round again, a stopped split among them. */
    again: count,
    /** Live items that are ended. */
    stopped: count,
    /** Finished, and left as they are. */
    kept: count,
  }),
  /** Committed calls of unfinished items: their results are used, nothing is sent. */
  skipped: count,
  calledAgain: previewed, verified: previewed, asked: previewed,
  /** In the order of undoing. */
  undone: previewed,
  /** Writes that stand, because nothing can take them back. */
  residue: previewed,
  /** How many there are in all. */
  counts: z.object({ calledAgain: count, verified: count, asked: count, undone: count, residue: count }),
  /** True: the lists show the first thousand only of some. */
  isCut: z.boolean(),
})
export type Preview = z.infer<typeof previewSchema>

export const verbAnswerSchema = z.object({
  dryRun: z.literal(false), runId: z.string(), status: z.enum(RUN_STATUSES),
  /** Of `resume`: items sent round again. */
  reopened: count.optional(),
  /** Of `cancel`: calls whose outcome is found out after the fact. */
  unsettled: count.optional(),
})
export type VerbAnswer = z.infer<typeof verbAnswerSchema>

const options = z.record(z.string(), z.record(z.string(), z.unknown())).optional()
const part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('reasoning'), text: z.string(), providerOptions: options }),
  z.object({ type: z.literal('tool-call'), toolCallId: z.string(), toolName: z.string(), input: z.record(z.string(), z.unknown()), providerOptions: options }),
])
const resultPart = z.object({ type: z.literal('tool-result'), toolCallId: z.string(), toolName: z.string(), output: z.object({ type: z.enum(['text', 'error-text']), value: z.string() }) })

export const briefSchema = z.object({
  system: z.string(),
  /** False: the agent's instructions are not known here, and `system` holds what Pawl adds to them. */
  hasInstructions: z.boolean(),
  messages: z.array(z.discriminatedUnion('role', [
    z.object({ role: z.literal('user'), content: z.string() }), z.object({ role: z.literal('assistant'), content: z.array(part) }), z.object({ role: z.literal('tool'), content: z.array(resultPart) }),
  ])),
  /** As estimated, and what they may be. */
  tokens: count, budget: count,
  /** What is done and open alone takes more than the budget; nothing of it was left out. */
  isOver: z.boolean(),
  /** Turns told by one line per call; the later ones are whole. */
  turnsDigested: count,
})
export type BriefView = z.infer<typeof briefSchema>

const pins = z.object({ version: z.string(), model: z.string().nullable(), prompt: z.string().nullable() })

export const repinAnswerSchema = z.object({
  dryRun: z.literal(false), runId: z.string(), status: z.enum(RUN_STATUSES), from: pins, to: pins,
  /** Items that go on under the new pins. */
  moved: count,
})
export type RepinAnswer = z.infer<typeof repinAnswerSchema>

/** What a repin would meet, found by reading alone. */
export const repinPreviewSchema = z.object({
  dryRun: z.literal(true), runId: z.string(), status: z.enum(RUN_STATUSES), from: pins, to: pins,
  /** False: it would be refused, because nobody knows the version. */
  isAllowed: z.boolean(),
  /** Live processes that take items of it. */
  workers: count,
  /** An agent known to the client or producer is, or serves, this version. */
  isConfigured: z.boolean(),
  /** Items not ended, and those of them that are handed back at their next call. */
  live: count, inProgress: count,
  /** Calls of unfinished items made by a tool version the new build lacks: their items would be blocked `version`. */
  unserved: z.array(z.object({ tool: z.string(), version: z.string(), items: count })),
  /** Tools whose version or key changes. A changed key does not recognise what another item has done under the old one. */
  changedTools: z.array(z.object({ tool: z.string(), from: z.string(), to: z.string().nullable(), isKeyChanged: z.boolean() })),
})
export type RepinPreview = z.infer<typeof repinPreviewSchema>

export const startedSchema = z.object({
  id: z.string(),
  /** False: the Idempotency-Key named this run already. */
  isNew: z.boolean(),
})
export type StartedRun = z.infer<typeof startedSchema>

export const pageSchema = <T extends z.ZodType>(entry: T) => z.object({ entries: z.array(entry), cursor: z.string().nullable() })

export const runToWire = (run: Run) => ({ ...run, input: toWire(run.input), result: toWire(run.result) })
export const itemToWire = (item: Item) => ({ ...item, payload: toWire(item.payload), result: toWire(item.result) })
export const actionToWire = (action: Action) => ({
  ...action, args: toWire(action.args), result: toWire(action.result), evidence: action.evidence.map(toWire), appliedEvidence: toWire(action.appliedEvidence), undo: toWire(action.undo),
})
export const questionToWire = (question: Question) => ({ ...question, answer: toWire(question.answer) })
export const inboxToWire = (entry: InboxItem) => {
  switch (entry.kind) {
    case 'in_doubt': return { ...entry, action: actionToWire(entry.action) }
    case 'approval': return { ...entry, approval: { ...entry.approval, args: toWire(entry.approval.args) } }
    case 'question': return { ...entry, question: questionToWire(entry.question) }
    case 'blocked': return entry
  }
}
