/** What changed between a committed lock and this code, as sentences for a review. Pure. A change is silent when the version that carries it is the same. */
import { z } from 'zod'
import type { LockedAgent, LockedTool } from './lock.ts'

export interface LockFile {
  readonly lockVersion: 1
  /** By `name@version`. */
  readonly agents: Readonly<Record<string, LockedAgent>>
}

export interface LockChange {
  /** `mailing@3`, or `mail-api.send@1`. */
  readonly what: string
  readonly field: string
  readonly from: unknown
  readonly to: unknown
  /** Runs under way would meet it without a word: its version has to be raised. */
  readonly isSilent: boolean
}

const lockedTool: z.ZodType<LockedTool> = z.object({
  version: z.string(), effect: z.string(), key: z.object({ by: z.enum(['place', 'meaning']), samples: z.array(z.string()).nullable(), source: z.string().nullable() }),
  keyWindowMs: z.number().nullable(), verify: z.boolean(), timeoutMs: z.number(), settleWindowMs: z.number(), undo: z.string().nullable(), irreversible: z.boolean(),
  approval: z.enum(['never', 'always', 'decided by the input']), stage: z.boolean(),
})
export const lockFileSchema: z.ZodType<LockFile> = z.object({
  lockVersion: z.literal(1),
  agents: z.record(z.string(), z.object({
    version: z.string(), serves: z.array(z.string()), schemaVersion: z.number(), model: z.string().nullable(), prompt: z.string().nullable(),
    tools: z.record(z.string(), lockedTool), previousTools: z.array(z.string()),
  })),
})

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Whatever decides how a finished or interrupted call is recognised, repeated or taken back. */
const settling = ['effect', 'key', 'keyWindowMs', 'verify', 'undo'] as const
const other = ['timeoutMs', 'settleWindowMs', 'irreversible', 'approval', 'stage'] as const
const pinned = ['model', 'prompt', 'schemaVersion'] as const

export function compareLocks(before: LockFile, now: LockFile): LockChange[] {
  const changes: LockChange[] = []
  const [oldTools, newTools] = [toolsOf(before), toolsOf(now)]
  for (const [name, tool] of newTools) changes.push(...compareTool(name, oldTools.get(name), tool))
  for (const name of oldTools.keys()) if (!newTools.has(name)) changes.push({ what: name, field: 'tool', from: 'there', to: null, isSilent: false })
  for (const [name, agent] of Object.entries(now.agents)) {
    const old = before.agents[name]
    if (!old) changes.push({ what: name, field: 'agent', from: null, to: 'new', isSilent: false })
    for (const field of old ? pinned : []) if (!same(old?.[field], agent[field])) changes.push({ what: name, field, from: old?.[field], to: agent[field], isSilent: true })
    for (const field of old ? (['serves', 'previousTools'] as const) : []) if (!same(old?.[field], agent[field])) changes.push({ what: name, field, from: old?.[field], to: agent[field], isSilent: false })
    if (old && !same(versionsOf(old), versionsOf(agent))) changes.push({ what: name, field: 'tools', from: versionsOf(old), to: versionsOf(agent), isSilent: false })
  }
  for (const name of Object.keys(before.agents)) if (!now.agents[name]) changes.push({ what: name, field: 'agent', from: 'there', to: null, isSilent: false })
  return changes
}

const versionsOf = (agent: LockedAgent): string[] => Object.entries(agent.tools).map(([name, tool]) => `${name}@${tool.version}`)

const toolsOf = (lock: LockFile): Map<string, LockedTool> =>
  new Map(Object.values(lock.agents).flatMap((agent) => Object.entries(agent.tools).map(([name, tool]): [string, LockedTool] => [`${name}@${tool.version}`, tool])))

function compareTool(what: string, old: LockedTool | undefined, tool: LockedTool): LockChange[] {
  if (!old) return [{ what, field: 'tool', from: null, to: 'new', isSilent: false }]
  const changes: LockChange[] = []
  for (const field of settling) {
    const [from, to] = field === 'key' ? [keyOf(old), keyOf(tool)] : [old[field], tool[field]]
    if (!same(from, to)) changes.push({ what, field, from, to, isSilent: true })
  }
  for (const field of other) if (!same(old[field], tool[field])) changes.push({ what, field, from: old[field], to: tool[field], isSilent: false })
  // Where no input could be made up for it, the function's text is all there is to go by.
  if (same(keyOf(old), keyOf(tool)) && old.key.source !== tool.key.source) {
    changes.push({ what, field: tool.key.samples === null ? 'key function, which cannot be tried out here' : 'text of the key function (its keys are the same)', from: old.key.source, to: tool.key.source, isSilent: false })
  }
  return changes
}

const keyOf = (tool: LockedTool): unknown => (tool.key.by === 'place' ? 'item and ordinal' : (tool.key.samples ?? 'its input'))
