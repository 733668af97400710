/**
 * The known hole, forced: a verified tool that does not use Pawl's fetch stands still between the guard and its write, past its lease and past the
 * wait of the next holder, whose verify rightly says "not applied" and who sends again; then it wakes and writes. Counted apart, never among duplicates.
 */
import { defineAgent, type AnyAgent } from '@pawl/harness'
import { applied, defineTool, notApplied } from '@pawl/tools'
import { z } from 'zod'
import { callInput, common, type CallInput, type CallOutput } from './chaos-tools.ts'
import { timings, type Fleet } from './fleet.ts'
import type { Receiver } from './receiver.ts'

export const isOfTheHole = (subject: string): boolean => subject.startsWith('hole-')

async function received(effects: Receiver, subject: string, count: number): Promise<void> {
  while (effects.receipts().filter((receipt) => receipt.subject === subject).length < count) await new Promise((resolve) => setTimeout(resolve, 100))
}

export interface KnownHole {
  readonly agent: AnyAgent
  /** Resolves when the zombie's write has arrived too. */
  doubled(subject: string): Promise<void>
}

/** @param fleetNow the fleet, once there is one. */
export function openKnownHole(effects: Receiver, fleetNow: () => Fleet | undefined): KnownHole {
  const asleep = new Set<string>()
  const tool = defineTool<CallInput, CallOutput>({
    ...common, name: 'hole', description: 'Writes past the guard.', effect: 'non-idempotent', timeout: timings.leaseMs + 1_500,
    async execute({ subject }, { key, guard, runId, epoch }) {
      guard()
      const send = async (): Promise<Response> => await fetch(`${effects.url}/lookup/do/${subject}`, { method: 'POST', body: subject, headers: { 'idempotency-key': key } })
      if (!asleep.has(subject)) {
        asleep.add(subject)
        // One item a run: it is the first. Nothing of this attempt goes on but the write.
        fleetNow()?.freezeForGood({ runId, seq: 1, epoch })
        await received(effects, subject, 1)
      }
      const response = await send()
      return (await response.json()) as CallOutput
    },
    async verify({ subject }, { key }) {
      const response = await fetch(`${effects.url}/lookup/do/${subject}`, { headers: { 'idempotency-key': key } })
      return response.status === 200 ? applied((await response.json()) as CallOutput) : notApplied()
    },
  })
  return {
    agent: defineAgent({
      name: 'known-hole', version: '1', inputSchema: callInput, payloadSchema: z.null(), tools: { tool },
      run: async ({ input, tools: call }) => ({ result: (await call.tool(input)).ref }),
    }),
    doubled: (subject) => received(effects, subject, 2),
  }
}

