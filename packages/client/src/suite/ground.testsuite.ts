/** What the suites of the client share: the agents, a way into a state, and what a refusal is. */
import { limits, newId, PawlError } from '@pawl/core'
import { blockItem, claimItems, settleAction, type Ledger } from '@pawl/ledger'
import { defineTool } from '@pawl/tools'
import { expect } from 'vitest'
import { z } from 'zod'
import type { AgentContract } from '../agents.ts'
import type { ItemSeed, PawlClient } from '../contract.ts'
import type { RunEvent } from '../wire.ts'

const pay = defineTool({
  name: 'pay', version: '1', description: 'pays', effect: 'non-idempotent', inputSchema: z.object({ to: z.string() }), outputSchema: z.object({ receipt: z.string() }),
  execute: async () => ({ receipt: 'r' }),
})

export const mailing: AgentContract<{ recipients: string[] }, { to: string }> & { tools: { pay: typeof pay } } = {
  name: 'mailing', version: '1', inputSchema: z.object({ recipients: z.array(z.string()) }), payloadSchema: z.object({ to: z.string() }), tools: { pay },
  split: (input: { recipients: string[] }) => input.recipients.map((to) => ({ key: to, payload: { to } })),
}
/** Takes any value and has no split. */
export const stock: AgentContract<unknown, unknown> & { tools: Record<string, never> } = {
  name: 'stock', version: '1', inputSchema: z.unknown(), payloadSchema: z.unknown(), tools: {},
}

export interface Opened {
  readonly client: PawlClient
  /** The same ledger, for bringing it into a state. */
  readonly ledger: Ledger
  readonly actor: string
}

/** What was opened for the suite; there from the first test on. */
export type Opening = () => Opened

export const refused = async (call: Promise<unknown>): Promise<PawlError> => {
  try {
    await call
  } catch (error) {
    if (error instanceof PawlError) return error
    throw error
  }
  throw new Error('it was not refused')
}

export const seeds = (n: number): ItemSeed[] => Array.from({ length: n }, (_, i) => ({ key: `item-${i}`, payload: { n: i } }))

/** All events of a run. Over HTTP one is listed when it is a second old. */
export async function eventsOf({ client, ledger }: Opened, runId: string): Promise<readonly RunEvent[]> {
  const [row] = await ledger.query<{ n: number }>('select count(*)::integer as n from pawl.events where run_id = $1', [runId])
  let events: readonly RunEvent[] = []
  await expect.poll(async () => { events = await client.listEvents(runId); return events.length }, { timeout: 15_000, interval: 50 }).toBeGreaterThanOrEqual(row?.n ?? Infinity)
  return events
}

/** An item whose one call is in doubt and may be denied after `waitMs`. */
export async function doubtful({ client, ledger }: Opened, waitMs: number): Promise<{ runId: string; actionId: number; seq: number }> {
  const { id: runId } = await client.startRun('mailing', { recipients: [] }, { items: [{ key: 'a', payload: { to: 'a' } }] })
  const seq = (await client.listItems(runId)).entries[0]?.seq ?? -1
  const [claim] = await claimItems(ledger, [{ runId, seq, generation: null }], { workerId: newId(), nonce: newId(), leaseMs: limits.leaseMs, alone: false })
  const by = { runId, seq, epoch: claim?.item?.epoch ?? -1 }
  await ledger.query(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, token, args, args_digest, timeout_ms, settle_ms)
    values ($1, $2, 'pay-a', 'pay', '1', 'non-idempotent', 'started', $3, $4, '{"to":"a"}', 'd', 1000, 1000)`, [runId, seq, by.epoch, newId()])
  const action = await settleAction(ledger, by, 'pay-a', { verdict: 'in_doubt', by: 'worker', waitMs })
  expect(await blockItem(ledger, by, 'in_doubt', { action: action?.id })).toBe('blocked')
  return { runId, actionId: action?.id ?? -1, seq }
}

/** An item of a run of one, claimed as a worker would: a lease longer than any worker asks for is ended by the sweep of a producer nearby. */
export async function claimed({ client, ledger }: Opened, policy?: { approval: { notByRequester: boolean } }): Promise<{ runId: string; seq: number; epoch: number }> {
  const { id: runId } = await client.startRun('stock', null, { items: seeds(1), policy })
  const seq = (await client.listItems(runId)).entries[0]?.seq ?? -1
  const [claim] = await claimItems(ledger, [{ runId, seq, generation: null }], { workerId: newId(), nonce: newId(), leaseMs: limits.leaseMs, alone: false })
  return { runId, seq, epoch: claim?.item?.epoch ?? -1 }
}
