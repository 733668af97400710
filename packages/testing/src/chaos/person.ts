/**
 * The person of a chaos run: answers every doubt as soon as it may be answered, by what the receiver logged, and never by what the ledger says.
 * A doubt about a call that never arrived, of a process that was never stopped, is a needless escalation.
 */
import { decideApprovals, releaseItem, wakeItems, type ActionRow, type Ledger } from '@pawl/ledger'
import { answerByReceipts, listDoubts } from './answer-by-receipts.ts'
import type { Observer } from './observer.ts'
import type { Receiver } from './receiver.ts'
import type { Tally } from './tally.ts'

export interface PersonParts {
  readonly ledger: Ledger
  readonly effects: Receiver
  readonly observer: Observer
  readonly tally: Tally
  readonly touch: (runId: string) => void
}

type BlockedRow = Record<string, unknown> & { run_id: string; seq: number; blocked_reason: string; blocked_detail: string | null }
const everyMs = 200
/** Reasons that follow from faults; any other is a contradiction the faults must not be able to cause. */
const expected: readonly string[] = ['crash_loop']

export class Person {
  readonly needless: string[] = []
  /** Items blocked for a reason that no fault may cause. */
  readonly contradictions: string[] = []
  crashLoops = 0
  readonly #judged = new Set<string>()
  readonly #timer: NodeJS.Timeout
  #isBusy = false

  constructor(private readonly parts: PersonParts) {
    this.#timer = setInterval(() => void this.#look(), everyMs)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      await this.#answerDoubts()
      await this.#approve()
      await this.#releaseBlocked()
    } catch (error) {
      this.contradictions.push(`a person's verb failed: ${error instanceof Error ? error.message : String(error)}`)
    } finally {
      this.#isBusy = false
    }
  }

  async #answerDoubts(): Promise<void> {
    const { ledger, effects, tally, touch } = this.parts
    for (const action of await listDoubts(ledger)) {
      this.#judge(action, effects.receiptsOf(action.key).length)
      const answer = await answerByReceipts(ledger, effects, action)
      if (answer === undefined) continue
      tally.count(answer === 'happened' ? 'answersHappened' : 'answersDidNot')
      touch(action.run_id)
    }
  }

  #judge(action: ActionRow, receipts: number): void {
    const { observer } = this.parts
    const doubt = `${action.run_id}:${action.id}:${action.attempt}`
    if (this.#judged.has(doubt)) return
    this.#judged.add(doubt)
    const place = { runId: action.run_id, seq: action.item_seq, epoch: action.epoch }
    // A later holder raised it: this one's lease ended without it, which a starved machine does as well as a stopped one.
    if (receipts > 0 || observer.wasStopped(place) || observer.isTakenOver(place)) return
    this.needless.push(`${action.tool} of item ${action.item_seq} of run ${action.run_id}, attempt ${action.attempt}, epoch ${action.epoch}: ${action.error ?? 'no error kept'}`)
  }

  /** Says yes to everything, exactly as it is asked. */
  async #approve(): Promise<void> {
    const { ledger, tally, touch } = this.parts
    const open = await ledger.query<{ run_id: string; action_id: number; digest: string }>(
      `select run_id, action_id::integer as action_id, digest from pawl.approvals where status = 'open' order by run_id, id limit 200`)
    for (const { run_id: runId, action_id: actionId, digest } of open) {
      const [said] = await decideApprovals(ledger, runId, [{ actionId, digest, verdict: 'approved' }], { actor: 'ann' })
      if (said?.outcome === 'approved') tally.count('approvals')
      await wakeItems(ledger, runId)
      touch(runId)
    }
  }

  async #releaseBlocked(): Promise<void> {
    const { ledger, touch } = this.parts
    const rows = await ledger.query<BlockedRow>(`select run_id, seq, blocked_reason, blocked_detail from pawl.items where status = 'blocked' and blocked_reason not in ('in_doubt', 'key', 'approval') limit 50`)
    for (const row of rows) {
      if (row.blocked_reason === 'crash_loop') this.crashLoops++
      if (!expected.includes(row.blocked_reason)) this.contradictions.push(`item ${row.seq} of run ${row.run_id} is blocked: ${row.blocked_reason} ${row.blocked_detail ?? ''}`)
      await releaseItem(ledger, row.run_id, row.seq, row.blocked_reason === 'crash_loop' ? 'resume' : 'fail', { actor: 'ann' })
      touch(row.run_id)
    }
  }
}
