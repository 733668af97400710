/**
 * The text of `PAWL_FAILPOINTS`: entries separated by commas, each `<failpoint>[<where>]…:<action>[@n]`.
 * Failpoints are the harness's, with `-` or `_`; where is `[run=…]`, `[item=<seq>]`, `[tool=…]`, `[turn=…]`; actions are `kill`, `stop(ms)`, `throw`, `loseAck`,
 * `delay(ms)`; `@n` strikes at the n-th arrival there, the first by default, and once. `after_intent[tool=mail.send]:kill@2`.
 */
import { FAILPOINTS, type FailpointName } from '@pawl/harness'
import { z } from 'zod'

export const FAILPOINT_ACTIONS = ['kill', 'stop', 'throw', 'loseAck', 'delay'] as const

export interface PlannedFailpoint {
  readonly at: FailpointName
  readonly run: string | undefined
  readonly item: number | undefined
  readonly tool: string | undefined
  readonly turn: number | undefined
  readonly action: (typeof FAILPOINT_ACTIONS)[number]
  /** Of `stop` and `delay`. */
  readonly ms: number
  readonly nth: number
}

const shape = /^(?<at>[a-z_-]+)(?<where>(?:\[[a-z]+=[^\]]+\])*):(?<action>[A-Za-z]+)(?:\((?<ms>\d+)\))?(?:@(?<nth>[1-9]\d*))?$/
const entry = z.object({
  at: z.enum(FAILPOINTS), action: z.enum(FAILPOINT_ACTIONS), ms: z.coerce.number().int().max(3_600_000).optional(), nth: z.coerce.number().int().default(1),
  where: z.strictObject({ run: z.string(), item: z.coerce.number().int(), tool: z.string(), turn: z.coerce.number().int() }).partial(),
})

function parseEntry(text: string): PlannedFailpoint | string {
  const parts = shape.exec(text)?.groups
  if (!parts) return `"${text}" is not <failpoint>:<action>`
  const where = Object.fromEntries([...(parts['where'] ?? '').matchAll(/\[([a-z]+)=([^\]]+)\]/g)].map(([, name = '', value = '']) => [name, value]))
  const parsed = entry.safeParse({ ...parts, at: parts['at']?.replaceAll('_', '-'), where })
  if (!parsed.success) return `"${text}": ${parsed.error.issues[0]?.path.join('.') ?? ''} ${parsed.error.issues[0]?.message ?? 'is wrong'}`
  const { at, action, ms, nth } = parsed.data
  if ((action === 'stop' || action === 'delay') !== (ms !== undefined)) return `"${text}": stop and delay take milliseconds, as in delay(200), and nothing else does`
  return { at, action, ms: ms ?? 0, nth, run: parsed.data.where.run, item: parsed.data.where.item, tool: parsed.data.where.tool, turn: parsed.data.where.turn }
}

export const failpointPlan = z.string().transform((text, context): readonly PlannedFailpoint[] => {
  const parsed = text.split(',').map((part) => parseEntry(part.trim()))
  for (const one of parsed) if (typeof one === 'string') context.addIssue({ code: 'custom', message: one })
  return parsed.filter((one) => typeof one !== 'string')
})
