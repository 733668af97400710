/** What a crash showed about the agent, each with the way out. Pure: compares crashed runs with the one nobody disturbed. */
import type { Played } from './crash-everywhere-play.ts'

export type CrashProblemKind = 'fires-twice' | 'key-collides' | 'key-changes' | 'verify-lies' | 'lost' | 'stuck'

export interface CrashProblem {
  readonly kind: CrashProblemKind
  /** The tool's name; empty where no tool is to blame. */
  readonly tool: string
  /** Where the run was crashed when it showed, `after-answer 2` being the second time it came by there; `no crash` where it needs none. */
  readonly crashedAt: readonly string[]
  readonly what: string
  readonly fix: string
}

type Found = Omit<CrashProblem, 'crashedAt'>

export function judgeCrashes(undisturbed: Played, crashed: readonly Played[]): CrashProblem[] {
  const problems = new Map<string, Found & { crashedAt: string[] }>()
  for (const played of [undisturbed, ...crashed]) {
    const where = played.point ? `${played.point.at} ${played.point.nth}` : 'no crash'
    for (const found of problemsOf(undisturbed, played)) {
      const place = JSON.stringify([found.kind, found.tool, found.what])
      const known = problems.get(place)
      if (known) known.crashedAt.push(where)
      else problems.set(place, { ...found, crashedAt: [where] })
    }
  }
  return [...problems.values()]
}

function problemsOf(undisturbed: Played, played: Played): Found[] {
  const lies = played.lies.map(lieFound)
  return [...lies, ...countsOf(undisturbed, played, new Set(lies.map((lie) => lie.tool))), ...endFound(undisturbed, played)]
}

function lieFound({ tool, said }: Played['lies'][number]): Found {
  return said === 'notApplied'
    ? {
        kind: 'verify-lies', tool, what: `verify of "${tool}" said notApplied of a call that had run to its end; it was sent again.`,
        fix: 'Let verify look the call up by its key, or by something of the input that is unique, where the effect is kept; say unknown() where it cannot tell, and give settleWindow the time an effect may stay invisible.',
      }
    : {
        kind: 'verify-lies', tool, what: `verify of "${tool}" said applied of a call that was never made; it is lost.`,
        fix: 'Let verify find this very call, by its key, and not one like it from another run or item; say notApplied() where there is none.',
      }
}

/** Calls carried out, by tool, against the undisturbed run's. */
function countsOf(undisturbed: Played, played: Played, liars: ReadonlySet<string>): Found[] {
  const found: Found[] = []
  const [before, now] = [carriedOut(undisturbed), carriedOut(played)]
  for (const tool of new Set([...before.keys(), ...now.keys()])) {
    const [usual, seen] = [before.get(tool) ?? none, now.get(tool) ?? none]
    if (seen.most > 1) {
      found.push({
        kind: 'fires-twice', tool, what: `"${tool}" is non-idempotent and was carried out more than once under one key.`,
        fix: 'Mend its verify, which let it be sent again; or, if the receiver deduplicates on a key, send context.key to it and declare effect: "idempotent".',
      })
    }
    if (seen.calls > usual.calls) {
      found.push({
        kind: 'fires-twice', tool, what: `"${tool}" was carried out for more calls than in the run nobody disturbed.`,
        fix: 'The agent asked for other calls after the crash than before it. Decide from the input, the payload and results of tools only; keep clocks, random numbers and model answers with ctx.record.',
      })
    }
    if (seen.calls < usual.calls && played.end === undisturbed.end && !liars.has(tool)) {
      found.push({
        kind: 'lost', tool, what: `"${tool}" was carried out for fewer calls than in the run nobody disturbed, and the run ended as if nothing were missing.`,
        fix: 'Do not skip calls on a later attempt (ctx.attempt, variables of the process): ask for every call again; what is done comes back at once.',
      })
    }
  }
  return found
}

interface Count { readonly calls: number; readonly most: number }
const none: Count = { calls: 0, most: 0 }

/** Writes that ran to their end: how many keys of each tool, and how often the most repeated of those that must not be repeated. */
function carriedOut({ keys }: Played): Map<string, Count> {
  const counts = new Map<string, Count>()
  for (const { tool, returned } of keys) {
    if (tool.effect === 'read' || returned === 0) continue
    const { calls, most } = counts.get(tool.name) ?? none
    counts.set(tool.name, { calls: calls + 1, most: tool.effect === 'non-idempotent' ? Math.max(most, returned) : most })
  }
  return counts
}

function endFound(undisturbed: Played, { end, why, point }: Played): Found[] {
  const { tool, reason } = why
  if (end === 'blocked' && reason === 'conflict') {
    return [{
      kind: 'key-collides', tool, what: `Two calls of "${tool}" with different args had the same key; the item waits for a person.`,
      fix: 'If they are two calls, give the tool a key that tells them apart, or the call a { key } of its own. If they are one, its args changed between attempts: keep what changes (clock, random number, model answer) with ctx.record.',
    }]
  }
  if (end === 'blocked' && reason === 'diverged') {
    return [{
      kind: 'key-changes', tool, what: `After the crash "${tool}" was called under another key than before; the item waits for a person.`,
      fix: 'Let key depend on the meaning of the input alone: no clock, no random number, no counter of the process. Where the input itself changes between attempts, keep it with ctx.record.',
    }]
  }
  if (end === undisturbed.end || point === null) return []
  return [{
    kind: 'stuck', tool, what: `Crashed, the run ended "${end}"${reason ? ` (${reason})` : ''} instead of "${undisturbed.end}".`,
    fix: 'The agent must be able to start from its first line again: no state outside the run, and no error because something is there already.',
  }]
}
