/**
 * What a call is before it is made: checked input, canonical arguments and their digest, the key, and the version of the tool that makes it.
 * Reads the journal; writes and sends nothing.
 */
import { decode, encode, limits, PawlError } from '@pawl/core'
import type { AnyTool } from '@pawl/tools'
import { digestOf, type Attempt } from './attempt.ts'
import type { Call } from './call.ts'
import { pinnedTool, versionsOf } from './tool-by-name.ts'

/**
 * Synchronous: the order in which an agent calls is the order in which keys are drawn. Throws on input the tool or the ledger refuses; nothing is sent then.
 * A call the journal has goes on in the version that began it, whatever key that gave it; another one is made in the version the run is pinned to.
 */
export function prepare(attempt: Attempt, named: AnyTool, input: unknown, own: string | undefined): Call {
  const tool = pinnedTool(attempt.agent, named, attempt.run.tools)
  let drawn: number | undefined
  const ordinal = (): number => (drawn ??= attempt.ordinal(tool.name))
  const recorded = attempt.journal.versionsOf(tool.name)
  const call = draw(attempt, tool, input, own, ordinal)
  for (const other of versionsOf(attempt.agent, tool)) {
    const found = other === tool ? call : recorded.has(other.version) ? draw(attempt, other, input, own, ordinal) : undefined
    if (found && !(found instanceof PawlError) && attempt.journal.get(found.key)?.tool_version === other.version) return found
  }
  if (call instanceof PawlError) throw call
  return call
}

/** An error: it does not take this input. */
function draw(attempt: Attempt, tool: AnyTool, input: unknown, own: string | undefined, ordinal: () => number): Call | PawlError {
  const parsed = tool.inputSchema.safeParse(input)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    return new PawlError('TOOL_INPUT', `Tool "${tool.name}" refused its input at "${issue?.path.join('.') ?? ''}": ${issue?.message ?? 'unknown'}. Nothing was sent.`, 'fail', { tool: tool.name })
  }
  const args = encode(parsed.data, { what: `input of ${tool.name}`, maxBytes: limits.argsBytes })
  const argsDigest = digestOf(parsed.data)
  const base = attempt.keyOf(tool.name, tool.key?.(parsed.data), own, ordinal)
  return { tool, input: decode(args), args, argsDigest, key: keyFor(attempt, base, argsDigest), undoes: null }
}

/** Other args under a key whose every send is proved not applied, and whose error the agent was given, get the key with `~2`, `~3`, …: their own row. */
function keyFor(attempt: Attempt, base: string, argsDigest: string): string {
  for (let n = 1; ; n++) {
    const key = n === 1 ? base : `${base}~${n}`
    const made = attempt.calls.get(key)
    const isFree = made ? made.isRefused && made.argsDigest !== argsDigest : attempt.journal.isFreeForOtherArgs(key, argsDigest)
    if (!isFree) return key
  }
}
