/** Starts one run as a client would, from outside the fleet. */
import { encode, newRunId } from '@pawl/core'
import { encodeItems, type AnyAgent, type ItemSeed } from '@pawl/harness'
import { appendItems, openStream, sealRun, startRun, type Ledger, type RunPolicy } from '@pawl/ledger'

/** @param items null: the agent's split brings them. @param named told the id before anything of the run exists. */
export async function beginRun(ledger: Ledger, agent: AnyAgent, input: unknown, items: readonly ItemSeed<unknown>[] | null, policy: Partial<RunPolicy>, named: (id: string) => void, id: string = newRunId()): Promise<string> {
  named(id)
  await startRun(ledger, {
    id, namespace: 'chaos', key: null, digest: null, agent: agent.name, agentVersion: agent.version, modelVersion: null, promptVersion: null, schemaVersion: 1,
    lockDigest: null, input: encode(input, { what: 'input' }), labels: {}, policy, createdBy: 'chaos', split: items === null,
  })
  if (items === null) return id
  const stream = (await openStream(ledger, id, 60_000)) ?? 0
  await appendItems(ledger, id, stream, encodeItems(agent, items))
  await sealRun(ledger, id, stream, null)
  return id
}
