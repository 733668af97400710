/**
 * What a brief is made of, read from the ledger alone, for who shows what a model will see next: the item's own rows whole, the run's counted.
 * Instructions are not in the ledger: `system` is null. Reads only, and each row as it is at its moment: an item at work may be a turn further a moment later.
 */
import { decode, isUuid, PawlError, turnDecision, type ActionStatus, type BriefAction, type BriefFacts, type BriefTally, type BriefTurn } from '@pawl/core'
import { and, asc, count, desc, eq, inArray, isNull, sql } from 'drizzle-orm'
import type { Ledger } from '../connect.ts'
import { actions, items, questions, runs, turns } from '../schema.ts'
import { readsOn } from './database.ts'

/** Kinds of failures named in a tally. */
const mostReasons = 5
const mostElsewhere = 1_000
/** Of an item's rows together: more would not fit beside others into the process that is asked. */
const mostBytes = 64_000_000

/** Undefined: no such item of a run in the namespace (null: in any). Throws `BRIEF_TOO_LARGE`, `BAD_TURN`. */
export async function readBriefFacts(ledger: Ledger, runId: string, seq: number, namespace: string | null): Promise<BriefFacts | undefined> {
  if (!isUuid(runId) || !Number.isInteger(seq) || seq < 0 || seq > 2_147_483_647) return undefined
  const database = readsOn(ledger)
  const [row] = await database.select({
    id: runs.id, agent: runs.agent, agentVersion: runs.agentVersion, modelVersion: runs.modelVersion, promptVersion: runs.promptVersion, schemaVersion: runs.schemaVersion,
    input: runs.input, seq: items.seq, kind: items.kind, key: items.key, payload: items.payload,
  }).from(items).innerJoin(runs, eq(runs.id, items.runId)).where(and(eq(items.runId, runId), eq(items.seq, seq), namespace === null ? undefined : eq(runs.namespace, namespace)))
  if (row === undefined) return undefined
  const ofItem = and(eq(actions.runId, runId), eq(actions.itemSeq, seq), isNull(actions.undoes))
  const [size] = await database.select({ bytes: sql<number>`coalesce(sum(octet_length(${actions.args}) + coalesce(octet_length(${actions.result}), 0)), 0)`.mapWith(Number).as('bytes') }).from(actions).where(ofItem)
  if ((size?.bytes ?? 0) > mostBytes) {
    throw new PawlError('BRIEF_TOO_LARGE', `The calls of item ${seq} of run ${runId} hold ${size?.bytes} bytes; a brief is shown of at most ${mostBytes}. Look at its actions page by page.`, 'tell', { runId, seq })
  }
  const columns = { key: actions.key, tool: actions.tool, status: actions.status, args: actions.args, result: actions.result, error: actions.error }
  const [own, decided, asked, tally] = await Promise.all([
    database.select(columns).from(actions).where(ofItem).orderBy(asc(actions.orderNo)),
    database.select({ n: turns.n, decision: turns.decision }).from(turns).where(and(eq(turns.runId, runId), eq(turns.itemSeq, seq))).orderBy(asc(turns.n)),
    database.select({ key: questions.key, question: questions.question, status: questions.status, answer: questions.answer }).from(questions).where(and(eq(questions.runId, runId), eq(questions.itemSeq, seq))).orderBy(asc(questions.orderNo)),
    readBriefTally(ledger, runId),
  ])
  const shownTurns = decided.map(({ n, decision }) => turnOf(runId, seq, n, decision))
  /** As the model called it. */
  const names = new Map(shownTurns.flatMap((turn) => turn.calls.flatMap((call) => (call.key === null ? [] : [[call.key, call.name] as const]))))
  /** Calls that another item of the run had made already: their results are this item's, too. */
  const elsewhere = [...names.keys()].filter((each) => !own.some((action) => action.key === each)).slice(0, mostElsewhere)
  const others = elsewhere.length === 0 ? [] : await database.select(columns).from(actions).where(and(eq(actions.runId, runId), inArray(actions.key, elsewhere)))
  const taken = [...own, ...others.toSorted((a, b) => elsewhere.indexOf(a.key) - elsewhere.indexOf(b.key))]
  const { input, payload, seq: _seq, kind, key, ...run } = row
  return {
    system: null, run: { ...run, input: decode(input) }, item: { seq, kind, key, payload: decode(payload) }, tally, turns: shownTurns,
    actions: taken.map((action): BriefAction => ({
      key: action.key, name: names.get(action.key) ?? action.tool, status: action.status as ActionStatus, args: decode(action.args),
      result: action.status === 'committed' && action.result !== null ? decode(action.result) : undefined, error: messageOf(action.error),
    })),
    questions: asked.map((question) => ({ ...question, answer: question.answer === null ? null : decode(question.answer) })),
  }
}

/** How a run stands, for its items' briefs. */
export async function readBriefTally(ledger: Ledger, runId: string): Promise<BriefTally> {
  const database = readsOn(ledger)
  const ofRun = and(eq(items.runId, runId), eq(items.kind, 'work'))
  const [counts, failures] = await Promise.all([
    database.select({ status: items.status, n: count().as('n') }).from(items).where(ofRun).groupBy(items.status),
    database.select({ error: items.error, n: count().as('n') }).from(items).where(and(ofRun, eq(items.status, 'failed'))).groupBy(items.error).orderBy(desc(count()), asc(items.error)).limit(mostReasons),
  ])
  const of = (status: string): number => counts.find((each) => each.status === status)?.n ?? 0
  return {
    total: counts.reduce((sum, each) => sum + each.n, 0), done: of('done'), failed: of('failed'), blocked: of('blocked'), cancelled: of('cancelled'),
    failures: failures.map(({ error, n }) => ({ reason: messageOf(error) ?? 'no reason recorded', count: n })),
  }
}

function turnOf(runId: string, seq: number, n: number, text: string): BriefTurn {
  const parsed = turnDecision.safeParse(decode(text))
  if (!parsed.success) throw new PawlError('BAD_TURN', `Turn ${n} of item ${seq} of run ${runId} was written by a build this one does not know. Ask a producer of that build.`, 'tell', { runId, seq, turn: n })
  const { text: words, calls, reasoning } = parsed.data
  return { n, text: words, calls, ...(reasoning === undefined ? {} : { reasoning }) }
}

function messageOf(text: string | null): string | null {
  if (text === null) return null
  try {
    const { message } = JSON.parse(text) as { message?: unknown }
    return typeof message === 'string' ? message : text
  } catch {
    return text
  }
}
