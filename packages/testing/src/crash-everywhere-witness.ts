/**
 * Stands between the harness and an agent's tools and counts: how often each key was carried out, to what end, and what `verify` said of it.
 * It changes nothing of a call but its windows, which are shortened so that hundreds of waits fit into a test.
 */
import { NotApplied } from '@pawl/core'
import type { AnyAgent } from '@pawl/harness'
import { NotSent, type AnyTool, type Verdict } from '@pawl/tools'

export interface KeySeen {
  readonly tool: AnyTool
  /** `execute` was entered. */
  began: number
  /** It ran to its end. */
  returned: number
  /** It said itself that nothing happened. */
  refused: number
  result: unknown
}

export interface Lie {
  readonly tool: string
  readonly key: string
  readonly said: 'applied' | 'notApplied'
}

export interface Windows {
  readonly longestTimeoutMs: number
  readonly longestSettleWindowMs: number
}

export class Witness {
  readonly agent: AnyAgent
  readonly lies: Lie[] = []
  readonly #seen = new Map<string, KeySeen>()
  readonly #watched = new Map<AnyTool, AnyTool>()

  constructor(agent: AnyAgent, private readonly windows: Windows) {
    const tools = Object.entries(agent.tools as Record<string, AnyTool>).map(([property, tool]) => [property, this.#watch(tool)] as const)
    this.agent = Object.freeze({ ...agent, tools: Object.fromEntries(tools) })
  }

  /** What became of a key, whose first half is its run: keys of two runs never meet. */
  of(key: string): KeySeen | undefined {
    return this.#seen.get(key)
  }

  #watch(tool: AnyTool): AnyTool {
    const known = this.#watched.get(tool)
    if (known) return known
    const verify = tool.verify?.bind(tool)
    const watched: AnyTool = {
      ...tool,
      timeoutMs: Math.min(tool.timeoutMs, this.windows.longestTimeoutMs),
      settleWindowMs: Math.min(tool.settleWindowMs, this.windows.longestSettleWindowMs),
      execute: (input, context) => this.#count(tool, context.key, () => tool.execute(input, context)),
      ...(verify ? { verify: (input: unknown, context: Parameters<typeof verify>[1]) => this.#check(tool, context.key, () => verify(input, context)) } : {}),
      ...(tool.undo ? { undo: { ...tool.undo, tool: this.#watch(tool.undo.tool) } } : {}),
    }
    this.#watched.set(tool, watched)
    return watched
  }

  async #count(tool: AnyTool, key: string, execute: () => Promise<unknown>): Promise<unknown> {
    const seen = this.#seen.get(key) ?? { tool, began: 0, returned: 0, refused: 0, result: undefined }
    this.#seen.set(key, seen)
    seen.began++
    try {
      const result = await execute()
      seen.returned++
      seen.result = result
      return result
    } catch (error) {
      if (error instanceof NotApplied || error instanceof NotSent) seen.refused++
      throw error
    }
  }

  /** A verdict is held against what was known when it was asked for: a call that ends meanwhile makes no liar of it. */
  async #check(tool: AnyTool, key: string, verify: () => Promise<Verdict<unknown>>): Promise<Verdict<unknown>> {
    const wasDone = (this.#seen.get(key)?.returned ?? 0) > 0
    const verdict = await verify()
    const seen = this.#seen.get(key)
    const isImpossible = seen === undefined || seen.began === seen.refused
    if (verdict.verdict === 'notApplied' && wasDone) this.lies.push({ tool: tool.name, key, said: 'notApplied' })
    if (verdict.verdict === 'applied' && isImpossible) this.lies.push({ tool: tool.name, key, said: 'applied' })
    return verdict
  }
}
