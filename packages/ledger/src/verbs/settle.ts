import { z } from 'zod'
import type { Ledger } from '../connect.ts'
import type { ItemRef } from '../flush.ts'
import type { History } from '../history.ts'
import { actionRow, type ActionRow } from '../rows.ts'
import { runVerb, runVerbOnce } from './run-verb.ts'

/** Who settles: the item's holder, or a compensate or settle item of the run, fenced by its own epoch. */
export interface Holder extends ItemRef {
  readonly epoch: number
}

/** `settle_action`. `undefined`: fenced. The row tells what holds now, whoever settled it. */
export async function settleAction(
  ledger: Ledger, by: Holder, key: string,
  found: { verdict: 'applied' | 'not_applied' | 'in_doubt'; result?: string | null; undo?: string | null; by: string; waitMs?: number },
): Promise<ActionRow | undefined> {
  const [row] = await runVerb(ledger, 'settle_action_json', [
    by.runId, by.seq, by.epoch, key, found.verdict, found.result ?? null, found.undo ?? null, found.by, Math.ceil(found.waitMs ?? 0),
  ], z.object({ action: actionRow }), { retryForMs: 60_000 })
  return row?.action
}

const rearmAnswer = z.object({
  outcome: z.enum(['sent', 'fenced', 'evidence', 'key_expired', 'taken', 'approval']), action: actionRow.nullable(), timeline: z.string(),
})
export type RearmAnswer = Omit<z.infer<typeof rearmAnswer>, 'timeline'> & { readonly history: History }

/** How long a send may take, and stay invisible: the tool's, as the build that sends has it. */
export interface SendTimes {
  readonly timeoutMs: number
  readonly settleWindowMs: number
}

/** `rearm_action`: send again under a key that exists. Nothing may be sent unless the outcome is `sent`. Without times, those of the earlier sends stand. `turn`: the one that decided this send. */
export async function rearmAction(ledger: Ledger, by: Holder, key: string, token: string, toolVersion: string, marginMs: number, times?: SendTimes, turn?: number | null): Promise<RearmAnswer> {
  const seen = ledger.gauge.begin()
  const { timeline, ...answer } = await runVerbOnce(ledger, 'rearm_action', [
    by.runId, by.seq, by.epoch, key, token, toolVersion, Math.ceil(marginMs), times ? Math.ceil(times.timeoutMs) : null, times ? Math.ceil(times.settleWindowMs) : null, turn ?? null,
  ], rearmAnswer, { retryForMs: 60_000 })
  return { ...answer, history: seen(timeline) }
}

/** `add_evidence`: unfenced. With `result`, the call is known to have been applied: nobody else may know, so it is written again while the ledger is away. Returns the action's status then. */
export async function addEvidence(ledger: Ledger, runId: string, key: string, evidence: { entry: string; result?: string | null; undo?: string | null }): Promise<string | null> {
  const { status } = await runVerbOnce(ledger, 'add_evidence', [runId, key, evidence.entry, evidence.result ?? null, evidence.undo ?? null],
    z.object({ add_evidence: z.string().nullable() }).transform((r) => ({ status: r.add_evidence })), { retryForMs: (evidence.result ?? null) === null ? 0 : 60_000 })
  return status
}

/**
 * `add_refusal`: unfenced. This send was never made, or its tool proved it not applied, and its worker has lost the item meanwhile: nobody else may know, so it is
 * written again while the ledger is away. Returns the action's status then; null: there is no such send, or it was counted already.
 */
export async function addRefusal(ledger: Ledger, runId: string, send: { key: string; token: string; error: string }): Promise<string | null> {
  const { status } = await runVerbOnce(ledger, 'add_refusal', [runId, send.key, send.token, send.error],
    z.object({ add_refusal: z.string().nullable() }).transform((r) => ({ status: r.add_refusal })), { retryForMs: 60_000 })
  return status
}

const answerOutcome = z.object({ outcome: z.enum(['answered', 'missing', 'changed', 'too_early', 'evidence']), action: actionRow.nullable() })
export type DoubtAnswered = z.infer<typeof answerOutcome>

/** `answer_doubt`: a person's word, bound to the attempt and the evidence that was shown. */
export async function answerDoubt(
  ledger: Ledger, runId: string, actionId: number,
  answer: { attempt: number; evidence: number; answer: 'happened' | 'did_not' | 'abandon'; result?: string | null; undo?: string | null; actor: string; note?: string | null },
): Promise<DoubtAnswered> {
  return await runVerbOnce(ledger, 'answer_doubt', [
    runId, actionId, answer.attempt, answer.evidence, answer.answer, answer.result ?? null, answer.undo ?? null, answer.actor, answer.note ?? null,
  ], answerOutcome)
}
