/** Splits runs into items beside the HTTP: their own queue, the same claim, lease and crash rules as any item. Also takes part in the election of the sweeper. */
import type { Observe } from '@pawl/core'
import { Harness, type AnyAgent } from '@pawl/harness'
import type { Logger } from 'pino'
import type { Connections } from './connect.ts'

/** Runs split at once; each holds one chunk of items. */
const concurrency = 4

export async function startSplitting(parts: Connections & { readonly agents: readonly AnyAgent[]; readonly log: Logger; readonly observe: Observe }): Promise<{ stop(): Promise<void> }> {
  const { log } = parts
  const harness = await Harness.start({ ...parts, concurrency, roles: ['splits'], name: 'producer', log: (level, line, place) => log[level](place, line) })
  return { stop: () => harness.stop() }
}
