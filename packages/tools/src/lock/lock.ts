/**
 * `pawl.lock.json`: how the calls of every agent are named and settled, beside the code that makes them, so that a silent change shows in a review.
 * Plain data, sorted, the same on every machine. Pure.
 */
import type { AnyTool } from '../define-tool.ts'
import { keyFormatOf } from './key-format.ts'
import { currentTools, type ToolHolder } from './reach.ts'

export interface LockedTool {
  readonly version: string
  readonly effect: string
  readonly key: { readonly by: 'place' | 'meaning'; readonly samples: readonly string[] | null; readonly source: string | null }
  readonly keyWindowMs: number | null
  readonly verify: boolean
  readonly timeoutMs: number
  readonly settleWindowMs: number
  /** `name@version` of what takes it back. */
  readonly undo: string | null
  readonly irreversible: boolean
  readonly approval: 'never' | 'always' | 'decided by the input'
  readonly stage: boolean
}

export interface LockedAgent {
  readonly version: string
  readonly serves: readonly string[]
  readonly schemaVersion: number
  readonly model: string | null
  readonly prompt: string | null
  readonly tools: Readonly<Record<string, LockedTool>>
  /** Older versions kept for runs that began with them, `name@version`. */
  readonly previousTools: readonly string[]
}

export function lockTool(tool: AnyTool): LockedTool {
  return {
    version: tool.version, effect: tool.effect, key: keyFormatOf(tool), keyWindowMs: tool.keyWindowMs ?? null, verify: tool.verify !== undefined,
    timeoutMs: tool.timeoutMs, settleWindowMs: tool.settleWindowMs, undo: tool.undo ? `${tool.undo.tool.name}@${tool.undo.tool.version}` : null,
    irreversible: tool.irreversible ?? false, approval: typeof tool.approval === 'function' ? 'decided by the input' : (tool.approval ?? 'never'), stage: tool.stage ?? false,
  }
}

interface Lockable extends ToolHolder {
  readonly version: string
  readonly serves?: readonly string[] | undefined
  readonly schemaVersion?: number | undefined
}

/** `pinned` is what a run's digest is made of: everything but hints, and what the build could do for other runs. */
export function lockAgent(agent: Lockable, { model, prompt }: { model: string | null; prompt: string | null }): { readonly locked: LockedAgent; readonly pinned: unknown } {
  const tools = Object.fromEntries(currentTools(agent).toSorted((a, b) => (a.name < b.name ? -1 : 1)).map((tool) => [tool.name, lockTool(tool)]))
  const locked: LockedAgent = {
    version: agent.version, serves: [...(agent.serves ?? [])], schemaVersion: agent.schemaVersion ?? 1, model, prompt, tools,
    previousTools: (agent.previousTools ?? []).map((tool) => `${tool.name}@${tool.version}`).toSorted(),
  }
  const { version, schemaVersion } = locked
  const plain = Object.fromEntries(Object.entries(tools).map(([name, { key: { by, samples }, ...tool }]) => [name, { ...tool, key: { by, samples } }]))
  return { locked, pinned: { version, schemaVersion, model, prompt, tools: plain } }
}
