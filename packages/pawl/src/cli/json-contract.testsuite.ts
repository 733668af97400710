/**
 * What `--json` prints, command by command: the promise to scripts. Members may be added; none is renamed, removed or given another type without
 * a word in CHANGELOG. Printed as JSON Schema into docs/cli.schema.json, which a test keeps equal to this.
 */
import { actionSchema, approvalDecisionSchema, briefSchema, exportLineSchema, inboxSchema, itemSchema, pageSchema, previewSchema, questionSchema, repinAnswerSchema, repinPreviewSchema, runSchema, startedSchema, verbAnswerSchema } from '@pawl/client'
import { BLOCKED_REASONS, EFFECTS, RUN_STATUSES } from '@pawl/core'
import { z } from 'zod'

const count = z.number().int()
const text = z.string()
const texts = z.array(text)

const bulk = z.object({
  verb: text, dryRun: z.boolean(), total: count, done: count, refused: count,
  /** Of these nothing is known; they have no entry. */
  open: count,
  entries: z.array(z.object({ runId: text, outcome: z.enum(['done', 'refused']), status: text.nullable(), detail: text })),
})
const progress = z.object({
  status: z.enum(RUN_STATUSES), paused: z.boolean(), total: count, pending: count, inProgress: count, done: count, failed: count, blocked: count, blockedReasons: z.partialRecord(z.enum(BLOCKED_REASONS), count),
  /** Only on the last line, where a person is needed: the commands. */
  next: texts.optional(),
})
const withCommands = z.intersection(inboxSchema, z.object({ commands: texts }))
const tool = z.object({
  agent: text, tool: text, version: text, effect: z.enum(EFFECTS), key: z.enum(['input', 'ordinal']), keyWindowMs: count.nullable(), verify: z.boolean(), settleWindowMs: count, timeoutMs: count,
  undo: text.nullable(), irreversible: z.boolean(), interrupted: text,
})
const lockChange = z.object({ what: text, field: text, from: z.unknown(), to: z.unknown(), isSilent: z.boolean() })
const decisions = z.object({ shown: z.array(inboxSchema), decisions: z.array(approvalDecisionSchema) })
const dev = z.object({ agents: texts, queue: z.enum(['redis', 'postgres']), folder: text, adopted: z.boolean(), producerUrl: text, dashboardUrl: text, loginUrl: text.optional(), pids: z.array(count) })
const reloaded = z.object({ reloaded: texts, agents: texts.optional(), error: text.optional() })

export interface Promised {
  /** A document; or a line for each of them, as it happens. */
  readonly prints: 'one' | 'lines'
  readonly schema: z.ZodType
}

const one = (schema: z.ZodType): Promised => ({ prints: 'one', schema })
const lines = (schema: z.ZodType): Promised => ({ prints: 'lines', schema })
const verb = z.union([verbAnswerSchema, previewSchema, bulk])

/** Commands that print no JSON of ours: the demo has its own, MCP speaks a protocol. */
export const withoutJson = ['demo', 'mcp'] as const

export const jsonContract: Readonly<Record<string, Promised>> = {
  init: one(z.object({ folder: text, files: texts, next: texts })),
  dev: lines(z.union([dev, reloaded])),
  worker: one(z.object({ processes: count, healthUrl: text.nullable() })),
  producer: one(z.object({ url: text })),
  dashboard: one(z.object({ url: text, loginUrl: text.nullable() })),
  migrate: one(z.object({ host: text, applied: texts })),
  'run start': lines(z.union([startedSchema, progress])),
  'run list': one(pageSchema(runSchema)),
  'run show': one(runSchema),
  'run watch': lines(progress),
  'run items': one(pageSchema(itemSchema)),
  'run actions': one(pageSchema(actionSchema)),
  'run action': one(actionSchema),
  'run brief': one(briefSchema),
  'run pause': one(verb),
  'run resume': one(z.union([verb, itemSchema])),
  'run cancel': one(verb),
  'run compensate': one(verb),
  'run fail': one(itemSchema),
  'run budget': one(verbAnswerSchema),
  'run repin': one(z.union([repinAnswerSchema, repinPreviewSchema, bulk])),
  'run export': lines(exportLineSchema),
  inbox: one(z.object({ entries: z.array(withCommands), cursor: text.nullable() })),
  settle: one(z.object({ doubt: inboxSchema, action: actionSchema })),
  answer: one(questionSchema),
  approve: one(decisions),
  reject: one(decisions),
  tools: one(z.union([z.array(tool), z.object({ path: text, changes: z.array(lockChange), isSame: z.boolean().optional() })])),
  audit: one(z.object({ checked: count, needingOracle: count, violations: z.array(z.object({ invariant: count, name: text, sentence: text, rows: z.array(z.record(text, z.unknown())) })) })),
  chaos: one(z.object({
    run: text, status: text, seed: count, kills: count, inFlight: count, items: count, takeovers: count, doubts: count, violations: count, duplicates: count.nullable(), lost: count.nullable(),
    seconds: count, ok: z.boolean(), problems: texts,
  })),
  doctor: one(z.object({ ok: z.boolean(), findings: z.array(z.object({ level: z.enum(['ok', 'warn', 'fail']), check: text, sentence: text, fix: text.optional() })) })),
  'ledger clear': one(z.object({
    id: text, wasTrusted: z.boolean(), cleared: z.boolean(),
    gap: z.object({
      keptUntil: text.nullable(), noticedAt: text.nullable(), why: text.nullable(), lostCalls: z.array(z.record(text, z.unknown())), broughtBack: count, begun: count, waiting: count,
      firstBegun: z.array(z.record(text, z.unknown())).nullable(), digest: text, unreported: z.array(z.object({ name: text, host: text, pid: count, seenAt: text })),
    }).nullable(),
  })),
  prune: one(z.object({
    dryRun: z.boolean(), olderThanMs: count, pruned: z.object({ runs: count, items: count, ids: texts }),
    kept: z.partialRecord(z.enum(['open', 'unsettled', 'person', 'key', 'undo', 'resume', 'residue']), count),
  })),
  completion: one(z.object({ shell: text, script: text })),
}

/** With `--json` a failure is one line on stderr. */
export const failureSchema = z.object({ code: text, message: text, details: z.record(text, z.unknown()) })

/** Fails on what a command printed and its entry does not say: a wrong type, and a member nobody promised. */
export function mustBePromised(command: string, stdout: string): void {
  const promised = jsonContract[command]
  if (promised === undefined) throw new Error(`pawl ${command} has no entry in the JSON contract`)
  const printed = stdout.trim().split('\n').map((line) => JSON.parse(line) as unknown)
  if (promised.prints === 'one' && printed.length !== 1) throw new Error(`pawl ${command} printed ${printed.length} documents; its entry promises one`)
  for (const value of printed) {
    const parsed = promised.schema.parse(value)
    const extra = unpromised(value, parsed, '')
    if (extra.length > 0) throw new Error(`pawl ${command} printed what its entry does not say: ${extra.join(', ')}`)
  }
}

/** Members that the schema dropped while parsing. */
function unpromised(value: unknown, parsed: unknown, path: string): string[] {
  if (Array.isArray(value) && Array.isArray(parsed)) return value.flatMap((each, i) => unpromised(each, parsed[i], `${path}[${i}]`))
  if (!isPlain(value) || !isPlain(parsed)) return []
  return Object.keys(value).flatMap((name) => (Object.hasOwn(parsed, name) ? unpromised(value[name], parsed[name], `${path}.${name}`) : [`${path}.${name}`]))
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> => value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype

/** As JSON Schema, of what is printed: before any parsing turns texts into dates. */
export const contractAsJsonSchema = (): string => `${JSON.stringify({
  $comment: 'What pawl prints with --json. Written by packages/pawl/src/json.test.ts (vitest -u).',
  commands: Object.fromEntries(Object.entries(jsonContract).map(([command, { prints, schema }]) => [command, { prints: prints === 'one' ? 'one document' : 'a document a line', schema: bare(schema) }])),
  failure: bare(failureSchema),
}, null, 1)}\n`

function bare(schema: z.ZodType): unknown {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return rest
}
