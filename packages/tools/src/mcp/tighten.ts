/**
 * What a classification becomes beside the server's hints. Pure. A hint may turn handling stricter than the operator said, never laxer: a server
 * that is wrong, or lies, about being read-only must not switch a question off. Hence `readOnlyHint: true`, `idempotentHint: true` and
 * `destructiveHint: false` do nothing at all. An absent hint says nothing either, whatever default the protocol gives it.
 */
import type { Classification } from './classification.ts'
import type { Hints } from './definition.ts'

export interface Tightened {
  readonly classification: Classification
  /** One sentence for every hint that changed something. */
  readonly because: readonly string[]
}

/** A tool nobody classified: whatever it says of itself. */
export const unclassified: Classification = { effect: 'non-idempotent', approval: 'always', hints: 'ignore' }

export function tighten(said: Classification, hints: Hints): Tightened {
  if (said.hints === 'ignore') return { classification: said, because: [] }
  const because: string[] = []
  let classification = said
  if (said.effect === 'read' && (hints.readOnlyHint === false || hints.destructiveHint === true)) {
    classification = { ...asNonIdempotent(said), approval: 'always' }
    because.push(`classified as a read, but its server says ${hints.readOnlyHint === false ? 'readOnlyHint: false' : 'destructiveHint: true'}: taken on as non-idempotent, a person is asked each time`)
  } else if (said.effect === 'idempotent' && hints.idempotentHint === false && hints.readOnlyHint !== true) {
    classification = asNonIdempotent(said)
    because.push('classified as idempotent, but its server says idempotentHint: false: taken on as non-idempotent, never sent again by itself')
  }
  if (classification.effect !== 'read' && classification.approval === undefined && hints.destructiveHint === true) {
    classification = { ...classification, approval: 'always' }
    because.push('its server says destructiveHint: true and no approval was stated: a person is asked each time')
  }
  return { classification, because }
}

/** What speaks about repeated calls goes; `verify` stays, it is the operator's own way of finding out. */
function asNonIdempotent(said: Classification): Classification {
  const { keyWindow: _window, concurrent: _concurrent, precondition: _precondition, ...rest } = said
  return { ...rest, effect: 'non-idempotent' }
}
