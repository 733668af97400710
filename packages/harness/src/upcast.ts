/**
 * What an older run brought, as this build's code wants it: one step per schema version, from the one it was written in to the build's own.
 * The stored text is never changed, so any build that reads that version can still take the run. Pure but for the agent's own functions.
 */
import { PawlError } from '@pawl/core'
import type { Upcast } from '@pawl/tools'
import type { AnyAgent } from './define-agent.ts'

export const schemaOf = (agent: AnyAgent): number => agent.schemaVersion ?? 1

/** Throws `SCHEMA_UNREADABLE`; the claim refuses such items before. */
export function upcast(agent: AnyAgent, what: 'payload' | 'input', value: unknown, from: number): unknown {
  const unreadable = (version: number): PawlError => new PawlError('SCHEMA_UNREADABLE',
    `Agent "${agent.name}" version ${agent.version} cannot read the ${what} of schema version ${version}: its own is ${schemaOf(agent)}. Add the step to upcast, or let a build that has it go on.`, 'fail', { agent: agent.name })
  if (from > schemaOf(agent)) throw unreadable(from)
  let found = value
  // 0: whoever started the run did not say; then it is taken for what is current.
  for (let version = from === 0 ? schemaOf(agent) : from; version < schemaOf(agent); version++) {
    const step = (agent.upcast as Readonly<Record<number, Upcast>> | undefined)?.[version]
    if (step === undefined) throw unreadable(version)
    const change = typeof step === 'function' ? (what === 'payload' ? step : undefined) : step[what]
    if (change) found = change(found)
  }
  return found
}

/** Of payloads this build adds to a run; null where it is the run's own. */
export const addedSchema = (agent: AnyAgent, run: { readonly schema_version: number }): number | null => (schemaOf(agent) === run.schema_version || run.schema_version === 0 ? null : schemaOf(agent))
