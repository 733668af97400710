/**
 * The known hole, forced in a real process: a verified tool that does not use Pawl's fetch stands still between the guard and its write, past its lease and past
 * the wait of the next holder, whose verify rightly says "not applied" and who sends again; then it is woken and writes. Counted apart, never among duplicates.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { defineAgent, type AnyAgent } from '@pawl/harness'
import { applied, defineTool, notApplied } from '@pawl/tools'
import { z } from 'zod'
import { callInput, common, type CallInput, type CallOutput } from '../chaos/chaos-tools.ts'
import { shortTimings } from '../virtual-workers.ts'
import { standingFile } from './chaos-place.ts'

/** @param parts the receiver, and the folder in which the process that stands still leaves its name. */
export function standingHoleAgent(parts: { readonly effectsUrl: string; readonly folder: string }): AnyAgent {
  const place = `${parts.effectsUrl}/lookup/do`
  const tool = defineTool<CallInput, CallOutput>({
    ...common, guarded: false, name: 'hole', description: 'Writes past the guard.', effect: 'non-idempotent', timeout: shortTimings.leaseMs + 1_500,
    async execute(input, { key, guard }) {
      guard()
      standStillOnce(standingFile(parts.folder, input.subject))
      const response = await fetch(`${place}/${input.subject}`, { method: 'POST', body: input.subject, headers: { 'idempotency-key': key } })
      return (await response.json()) as CallOutput
    },
    async verify(input, { key }) {
      const response = await fetch(`${place}/${input.subject}`, { headers: { 'idempotency-key': key } })
      return response.status === 200 ? applied((await response.json()) as CallOutput) : notApplied()
    },
  })
  return defineAgent({
    name: 'known-hole', version: '1', inputSchema: callInput, payloadSchema: z.null(), tools: { tool },
    run: async ({ input, tools: call }) => ({ result: (await call.tool(input)).ref }),
  })
}

function standStillOnce(file: string): void {
  if (existsSync(file)) return
  writeFileSync(file, JSON.stringify({ id: process.env['PAWL_WORKER_ID'] ?? '', pid: process.pid }))
  process.kill(process.pid, 'SIGSTOP')
}
