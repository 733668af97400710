/** One run of the agent, crashed at one point: another worker takes over, and whatever needs a person is answered with the truth. */
import { encode, isEndedRun, newRunId } from '@pawl/core'
import type { FailpointName, ItemSeed } from '@pawl/harness'
import { answerDoubt, readRun, wakeItems } from '@pawl/ledger'
import type { KeySeen, Lie, Witness } from './crash-everywhere-witness.ts'
import { until, type VirtualWorkers } from './virtual-workers.ts'

export interface CrashPoint {
  readonly at: FailpointName
  /** The n-th time the run came by there. */
  readonly nth: number
}

export interface Played {
  readonly point: CrashPoint | null
  /** False: the run ended before it came to the point. */
  readonly hasCrashed: boolean
  /** The run's status; `blocked` when an item waits for a person and no answer about a call would free it. */
  readonly end: string
  /** Why it is blocked or failed: reason, tool and error where there are. */
  readonly why: { readonly reason: string; readonly tool: string }
  readonly keys: readonly KeySeen[]
  readonly lies: readonly Lie[]
}

interface OpenDoubt {
  readonly id: number
  readonly key: string
  readonly attempt: number
  readonly evidence: number
}

export interface Play {
  readonly workers: VirtualWorkers
  readonly witness: Witness
  readonly input: unknown
  readonly items: readonly ItemSeed<unknown>[]
  readonly deadlineMs: number
}

export async function playRun({ workers, witness, input, items, deadlineMs }: Play, point: CrashPoint | null): Promise<Played> {
  const runId = newRunId()
  let hasCrashed = false
  if (point) void workers.fault({ runId, at: point.at, nth: point.nth, does: 'freeze' }).struck.then(() => { hasCrashed = true })
  await workers.startRun(witness.agent, input, { id: runId, items })
  let end = 'waiting'
  await until(`the run crashed at ${point ? `${point.at}, time ${point.nth},` : 'no point'} ends`, async () => {
    await answerTruly(workers, witness, runId)
    end = await endOf(workers, runId)
    return end !== 'waiting'
  }, deadlineMs, () => end)
  const keys = (await workers.ledger.query<{ key: string }>('select key from pawl.actions where run_id = $1 order by order_no', [runId])).map((row) => row.key)
  return {
    point, hasCrashed, end, why: await whyOf(workers, runId),
    keys: keys.flatMap((key) => witness.of(key) ?? []), lies: witness.lies.filter((lie) => keys.includes(lie.key)),
  }
}

/** Calls in doubt: the witness knows whether they happened. Where even it does not (the tool itself threw), the call is given up. */
async function answerTruly(workers: VirtualWorkers, witness: Witness, runId: string): Promise<void> {
  const doubts = await workers.ledger.query<OpenDoubt & Record<string, unknown>>(
    `select a.id::integer as id, a.key, a.attempt, cardinality(a.evidence) as evidence from pawl.actions a where a.run_id = $1 and a.status = 'in_doubt'`, [runId])
  for (const { id, key, attempt, evidence } of doubts) {
    const seen = witness.of(key)
    const answer = seen && seen.returned > 0 ? 'happened' : !seen || seen.began === seen.refused ? 'did_not' : 'abandon'
    const said = await answerDoubt(workers.ledger, runId, id, { attempt, evidence, answer, result: answer === 'happened' ? keep(seen?.result) : null, actor: 'crashEverywhere' })
    if (said.outcome !== 'answered') continue
    await wakeItems(workers.ledger, runId)
    workers.touch(runId)
  }
}

function keep(result: unknown): string | null {
  try {
    return encode(result, { what: 'result' })
  } catch {
    return null
  }
}

async function endOf(workers: VirtualWorkers, runId: string): Promise<string> {
  const run = await readRun(workers.ledger, runId)
  if (run && isEndedRun(run.status)) return run.status
  const blocked = await workers.ledger.query(`select 1 from pawl.items where run_id = $1 and status = 'blocked' and blocked_reason not in ('in_doubt', 'key')`, [runId])
  return blocked.length > 0 ? 'blocked' : 'waiting'
}

async function whyOf(workers: VirtualWorkers, runId: string): Promise<Played['why']> {
  const [item] = await workers.ledger.query<{ reason: string | null; detail: string | null; error: string | null }>(
    `select blocked_reason as reason, blocked_detail as detail, error from pawl.items where run_id = $1 and (status in ('blocked', 'failed')) order by status, seq limit 1`, [runId])
  const read = (text: string | null | undefined): Record<string, unknown> => (text ? (JSON.parse(text) as Record<string, unknown>) : {})
  const { tool, why } = read(item?.detail)
  const told = why ?? read(item?.error)['message']
  return { reason: item?.reason ?? (typeof told === 'string' ? told : ''), tool: typeof tool === 'string' ? tool : '' }
}
