/**
 * Known ways to break the promise, each as an exact edit, with the one claim that must go red. A name is what the product would then do;
 * `breaks` is what that would cost. Edits are texts, so that a change of the code they concern is noticed: then the mutant has to be written anew.
 */
import { securityMutants } from './security.mjs'

const ledger = 'packages/ledger/src'
const sql = 'packages/ledger/sql'
const harness = 'packages/harness/src'
const fence = 'and i.epoch = p_epoch and i.status'
const unfenced = 'and i.status'

const edit = (file, find, replace) => ({ file, find, replace })
/** A verb whose fence lacks the epoch. */
const withoutEpoch = (verb, file, claim) => ({
  name: `no epoch in ${verb}`, breaks: `a holder that lost its item still gets ${verb} through`,
  edits: [edit(`${sql}/${file}.sql`, fence, unfenced)], test: claim,
})
const at = (file, claim) => ({ file, claim })

export const mutants = [
  {
    name: 'no epoch in the flush', breaks: 'a zombie records intents and completions beside the new holder',
    edits: [edit(`${ledger}/flush.ts`, 'select i.run_id, i.seq, i.epoch from pawl.items i join want w on i.run_id = w.run and i.seq = w.seq and i.epoch = w.epoch and', 'select i.run_id, i.seq, w.epoch from pawl.items i join want w on i.run_id = w.run and i.seq = w.seq and')],
    test: at(`${ledger}/flush.test.ts`, 'a stale epoch cannot record an intent'),
  },
  withoutEpoch('rearm', 'rearm-action', at(`${ledger}/verbs/settle.test.ts`, '“again” is one fenced update')),
  withoutEpoch('request approval', 'request-approval', at(`${ledger}/verbs/approvals.test.ts`, 'a request is written at once, without a send')),
  {
    name: 'an approval checked outside the intent', breaks: 'a call is sent on a yes that was void, used, or never given by the time of its send',
    edits: [edit(`${sql}/rearm-action.sql`, "if not found or p.status <> 'approved' or p.action_id <> a.id", "if p.status = 'none' and p.action_id <> a.id")],
    test: at(`${ledger}/verbs/approvals.test.ts`, 'a request is written at once, without a send'),
  },
  {
    name: 'a refusal ignoring the token', breaks: 'that one send was never made is taken for another, which may have been',
    edits: [edit(`${sql}/add-refusal.sql`, 'x.key = p_key and x.token = p_token', 'x.key = p_key'), edit(`${sql}/add-refusal.sql`, 'x.id = a.id and x.token = p_token', 'x.id = a.id')],
    test: at(`${ledger}/verbs/settle.test.ts`, 'a send that was never made is told'),
  },
  {
    name: 'a second finalizer for one that never closed', breaks: 'what a finalizer sent before it failed is sent again after a resume',
    edits: [edit(`${sql}/advance-run.sql`, "if last.status in ('failed', 'cancelled') then", "if last.status = 'none' then")],
    test: at(`${harness}/resumed-finalizer.test.ts`, 'failed after a call of its own goes on'),
  },
  {
    name: 'a held-back call under way that another item waits for', breaks: 'an item that holds the same call back waits for a finalizer that waits for it',
    edits: [edit(`${sql}/07-keep-call.sql`, "a.status in ('staged', 'failed', 'awaiting_approval', 'started', 'in_doubt') and exists", "a.status in ('staged', 'failed', 'awaiting_approval') and exists")],
    test: at(`${harness}/resumed-finalizer.test.ts`, 'was cancelled with a key under way'),
  },
  {
    name: 'a release of whatever is blocked now', breaks: 'an answer about one undo gives up another, which nobody was shown',
    edits: [edit(`${sql}/release-item.sql`, 'if it.attempts <> p_attempts or', 'if'), edit(`${sql}/release-item.sql`, 'coalesce(p_reason, it.blocked_reason)', 'it.blocked_reason')],
    test: at('packages/client/src/client.test.ts', 'an answer about a blocked item is about what was shown'),
  },
  {
    name: 'a prune of a ledger in question', breaks: 'the rows a person has to compare with the receivers after a failover are gone',
    edits: [edit(`${sql}/prune-run.sql`, 'if not (select pawl.history_is_known(l) from pawl.ledger l) then', 'if false then')],
    test: at(`${ledger}/verbs/prune.test.ts`, 'a ledger that comes into question after it was looked at keeps the run'),
  },
  withoutEpoch('settle', 'settle-action', at(`${ledger}/verbs/settle.test.ts`, 'a settler records each verdict')),
  withoutEpoch('block', 'block-item', at(`${ledger}/verbs/items.test.ts`, 'blocking is fenced')),
  withoutEpoch('close run', 'close-run', at(`${ledger}/verbs/endings.test.ts`, 'the finalizer closes the run and itself at once')),
  withoutEpoch('compensate by policy', 'compensate-by-policy', at(`${ledger}/verbs/endings.test.ts`, 'a finalizer that lost its item compensates nothing')),
  withoutEpoch('open split stream', 'open-split-stream', at(`${ledger}/verbs/runs.test.ts`, 'a split that wakes late cannot bring items')),
  withoutEpoch('close compensation', 'close-compensation', at(`${ledger}/verbs/close-compensation.test.ts`, 'a compensator that lost its item closes nothing')),
  withoutEpoch('add items', 'add-items', at(`${ledger}/verbs/items.test.ts`, 'a running item adds items once')),
  {
    name: 'no epoch in a transactional commit', breaks: 'a zombie commits its SQL beside the new holder',
    edits: [edit(`${ledger}/verbs/commit-transactional.ts`, "i.seq = $2 and i.epoch = $3 and i.status = 'in_progress'", "i.seq = $2 and $3::integer is not null and i.status = 'in_progress'")],
    test: at(`${ledger}/flush.test.ts`, 'a transactional call whose item was taken over commits nothing'),
  },
  {
    name: 'a fence that reads without locking', breaks: 'the claim that overtakes a flush is not seen by it',
    edits: [edit(`${ledger}/flush.ts`, 'order by i.run_id, i.seq for update of i skip locked', 'order by i.run_id, i.seq')],
    test: at(`${ledger}/flush.test.ts`, 'a fence whose snapshot is older than the claim'),
  },
  {
    name: 'a claim that reads without locking', breaks: 'two workers own one item',
    edits: [edit(`${sql}/claim-items.sql`, 'where i.run_id = w.run and i.seq = w.seq for update;', 'where i.run_id = w.run and i.seq = w.seq;')],
    test: at(`${ledger}/verbs/claim-items.test.ts`, 'a claim cannot slip past startCompensation'),
  },
  {
    name: 'a bulk step that does not hold its entry', breaks: 'two producers, or one and the last statement of a dead one, do the verb to the same run',
    edits: [edit(`${sql}/step-bulk.sql`, ' limit 1 for update of x, r skip locked', ' limit 1')],
    test: at(`${ledger}/verbs/bulks.test.ts`, 'of two steps at once'),
  },
  {
    name: 'a finalizer that waits for an answer nobody gives', breaks: 'a run that is paused, or whose staged call is in doubt, stands for ever: its worker keeps the lease and does nothing',
    edits: [edit(`${harness}/bracket.ts`, 'Promise.race([makeCall(...made), made[0].parked])', 'makeCall(...made)')],
    test: at(`${harness}/staged.test.ts`, 'is put to a person, and is not sent again'),
  },
  {
    name: 'no wait before verify', breaks: '"not found yet" is taken for "did not happen", and the call is sent twice',
    edits: [edit(`${harness}/settle.ts`, 'async function verify(job: Job): Promise<Settled | undefined> {\n  if (!(await waitOut(job))) return undefined\n', 'async function verify(job: Job): Promise<Settled | undefined> {\n')],
    test: at(`${harness}/settling.test.ts`, '"not found" within the settle window'),
  },
  {
    name: 'a wait without the send window', breaks: 'a send that began at the end of the old holder’s window lands after the verdict',
    edits: [edit(`${harness}/settle.ts`, 'return attempt.parts.timings.sendWindowMs + action.timeout_ms + action.settle_ms', 'return action.timeout_ms + action.settle_ms')],
    test: at(`${harness}/closing.test.ts`, 'the wait before verify is the send window longer'),
  },
  {
    name: 'no wait before a second call under a key', breaks: 'a receiver that looks first and acts later acts twice',
    edits: [edit(`${harness}/settle.ts`, 'if (plan.waits && !(await waitOut(job))) return undefined', 'void plan.waits')],
    test: at(`${harness}/settling.test.ts`, 'a second call under a key waits out the first re-call too'),
  },
  {
    name: 'no send guard', breaks: 'a process that stood still sends after the takeover',
    edits: [edit(`${harness}/guard.ts`, '    check() {\n', '    check() {\n      hasPassed = true\n      if (Date.now() > 0) return\n')],
    test: at(`${harness}/calls.test.ts`, 'an event loop blocked past the send window writes nothing'),
  },
  {
    name: 'a guard only before execute', breaks: 'a process held up inside a tool sends after the takeover',
    edits: [edit(`${harness}/execute.ts`, 'contextOf(attempt, call, () => atWrite.check(), deadline.signal, tx)', 'contextOf(attempt, call, () => {}, deadline.signal, tx)')],
    test: at(`${harness}/sends.test.ts`, 'a tool that holds up the process past the send window writes nothing'),
  },
  {
    name: 'a guard asked before the connection', breaks: 'a request is written when the handshake comes through, however late',
    edits: [edit('packages/tools/src/guarded-fetch.ts', 'return dispatch({ ...request, body }, checkedBeforeBytes(handler, check))', 'check()\n    return dispatch({ ...request, body }, handler)')],
    test: at('packages/tools/src/guarded-fetch.test.ts', 'sends nothing when the guard is asked at the write'),
  },
  {
    name: 'key per attempt', breaks: 'every attempt is a new call',
    edits: [edit(`${harness}/attempt.ts`, "['by-place', this.item.kind, this.item.key, which]", "['by-place', this.item.kind, this.item.key, which, this.item.attempts]")],
    test: at(`${harness}/keys.test.ts`, 'a call has one key on every attempt'),
  },
  {
    name: 'key from args', breaks: 'a call planned anew in other words is a second effect, and two calls with the same args are one',
    edits: [edit(`${harness}/prepare.ts`, 'attempt.keyOf(tool.name, tool.key?.(parsed.data), own, ordinal)', 'attempt.keyOf(tool.name, tool.key?.(parsed.data) ?? [argsDigest], own, ordinal)')],
    test: at(`${harness}/keys.test.ts`, 'a call that the agent words anew after a failure keeps its key'),
  },
  {
    name: 'key from the ordinal alone', breaks: 'the meaning a tool states does not count: calls that come in another order are other calls',
    edits: [edit(`${harness}/prepare.ts`, 'attempt.keyOf(tool.name, tool.key?.(parsed.data), own, ordinal)', 'attempt.keyOf(tool.name, undefined, own, ordinal)')],
    test: at(`${harness}/keys.test.ts`, 'a call whose tool states its meaning is one call'),
  },
  {
    name: 'intent not awaited', breaks: 'a call is sent that the ledger never hears of',
    edits: [edit(`${harness}/bracket.ts`, 'const answer = await toldIfUnsent(attempt, call.key, token, attempt.intent(intent))', "attempt.intent(intent).catch(() => {})\n  const answer = { outcome: 'sent', id: 1, orderNo: 1 } as { outcome: 'sent'; id: number; orderNo: number } | { outcome: 'fenced' } | { outcome: 'exists'; action: ActionRow }")],
    test: at(`${harness}/sends.test.ts`, 'nothing is sent before its intent is durable'),
  },
  {
    name: 'completion ignoring the token', breaks: 'the answer of an older send settles a newer one',
    edits: [edit(`${ledger}/flush.ts`, "where a.run_id = x.run and a.key = x.key and a.token = x.token and a.status = 'started'", "where a.run_id = x.run and a.key = x.key and a.status = 'started'")],
    test: at(`${ledger}/flush.test.ts`, 'a finish is refused while a completion it rides on was refused'),
  },
  {
    name: 'an item twice in one statement', breaks: 'a finish is lost to a renewal that came with it',
    edits: [edit(`${ledger}/writer.ts`, 'await flush(this.ledger, batches.map(wantOf), this.options.leaseMs)', 'await flush(this.ledger, batches.flatMap((batch) => batch.ops.map((op) => wantOf({ ...batch, ops: [op] }))), this.options.leaseMs)')],
    test: at(`${ledger}/writer.test.ts`, 'renewals and a finish of one item are one row of the flush'),
  },
  {
    name: 'a batch split by row', breaks: 'an intent passes whose foundation did not',
    edits: [edit(`${ledger}/writer.ts`, 'if (batches.length === 1) return rejectAll(batches[0]!, error)', 'const [only] = batches\n    if (batches.length === 1 && only && only.ops.length > 1) {\n      for (const op of only.ops) await this.#write([{ ...only, ops: [op] }])\n      return\n    }\n    if (batches.length === 1) return rejectAll(batches[0]!, error)')],
    test: at(`${ledger}/writer.test.ts`, 'a poisoned row hurts its own item only'),
  },
  {
    name: 'fixed job id with kept jobs', breaks: 'a kept job swallows the next ring, and the item waits for a day',
    edits: [edit(`${sql}/take-due-items.sql`, 'generation = i.generation + 1', 'generation = greatest(i.generation, 1)')],
    test: at(`${ledger}/verbs/dispatch.test.ts`, 'whatever is rung again has a new generation'),
  },
  {
    name: 'answered before the commit', breaks: 'a run was promised that does not exist',
    edits: [edit('packages/client/src/start-run.ts', 'const started = await write(parts.ledger, { ...run, digest }, items, options.tx)', "write(parts.ledger, { ...run, digest }, items, options.tx).catch(() => {})\n  const started: WholeStart = { outcome: 'created', runId: run.id, digest, duplicates: [] }")],
    test: at('packages/client/src/client.test.ts', 'a run is promised only once the ledger has it'),
  },
  {
    name: 'compensation without epoch bump', breaks: 'the old holders of a compensated run are not fenced',
    edits: [edit(`${sql}/04-stop-items.sql`, "status = 'cancelled', epoch = i.epoch + 1,", "status = 'cancelled',")],
    test: at(`${ledger}/verbs/claim-items.test.ts`, 'a claim cannot slip past startCompensation'),
  },
  {
    name: 'compensation beside live items', breaks: 'forward calls are sent while others are undone',
    edits: [edit(`${sql}/start-compensation.sql`, '  perform pawl.stop_items(p_run);\n', '')],
    test: at(`${ledger}/verbs/claim-items.test.ts`, 'a claim cannot slip past startCompensation'),
  },
  {
    name: 'compensation oldest first', breaks: 'the account is deleted before the money is taken back',
    edits: [edit(`${ledger}/verbs/compensation.ts`, 'order by a.order_no desc limit 1', 'order by a.order_no asc limit 1')],
    test: at(`${ledger}/verbs/endings.test.ts`, 'compensation settles first, then undoes newest first'),
  },
  {
    name: 'compensation around something unsettled', breaks: 'an effect that lands later stands in a run that says it was undone',
    edits: [edit(`${harness}/compensate.ts`, "  if (!(await settleRun(attempt))) return { kind: 'parked' }\n", '')],
    test: at(`${harness}/closing.test.ts`, 'nothing is undone while a call of the run is in doubt'),
  },
  {
    name: 'compensation closed around something unsettled', breaks: 'a run says it was undone while a call of it is unknown',
    edits: [edit(`${sql}/close-compensation.sql`, "(a.status in ('started', 'in_doubt') or (a.status = 'failed'", "((a.status = 'failed'")],
    test: at(`${ledger}/verbs/close-compensation.test.ts`, 'a compensation does not close around a call'),
  },
  {
    name: 'claim with the journal of its own snapshot', breaks: 'a refund committed a moment ago is not in the journal, and is sent again',
    edits: [
      edit(`${sql}/claim-items.sql`, "  is_known boolean := (select pawl.history_is_known(l) from pawl.ledger l);\nbegin\n", "  is_known boolean := (select pawl.history_is_known(l) from pawl.ledger l);\n  early jsonb;\nbegin\n  select jsonb_agg(to_jsonb(a.*)) into early from pawl.actions a where a.run_id = any(p_runs);\n"),
      edit(`${sql}/claim-items.sql`, 'from pawl.actions a where a.run_id = c.run and a.item_seq = c.seq', 'from jsonb_populate_recordset(null::pawl.actions, early) a where a.run_id = c.run and a.item_seq = c.seq'),
    ],
    test: at(`${ledger}/verbs/claim-items.test.ts`, 'a batch claim that waited for one item brings the journal of another as it is now'),
  },
  {
    name: 'the model is asked again for a recorded turn', breaks: 'a decision is made twice, worded anew, and its calls are others',
    edits: [edit(`${harness}/loop/loop.ts`, 'const recorded = this.attempt.journal.turn(n)\n', 'const recorded = undefined as { decision: string } | undefined\n')],
    test: at(`${harness}/loop/loop.test.ts`, 'a recorded turn whose calls were not begun is carried out from the record'),
  },
  {
    name: 'an intent beside a turn that was not written', breaks: 'a call is sent for a decision the ledger does not have',
    edits: [edit(`${ledger}/flush.ts`, ' and f.turns = (select count(*) from t where t.run_id = f.run_id and t.item_seq = f.seq)', '')],
    test: at(`${ledger}/flush.test.ts`, 'a turn that another backend of the same holder writes'),
  },
  {
    name: 'park in a plain statement', breaks: 'an item that parks while its answer arrives sleeps for ever',
    edits: [
      edit(`${sql}/block-item.sql`, '  holds := pawl.reason_holds(p_run, p_seq, p_reason, p_detail);\n', ''),
      edit(`${sql}/block-item.sql`, 'begin\n  perform 1', 'begin\n  holds := pawl.reason_holds(p_run, p_seq, p_reason, p_detail);\n  perform 1'),
    ],
    test: at(`${ledger}/verbs/items.test.ts`, 'the item that parks while its answer is being written waits for it, and does not park'),
  },
  {
    name: 'answer in a plain statement', breaks: 'an answer that comes while its item is parking wakes nobody',
    edits: [edit(`${sql}/answer-doubt.sql`, '  perform 1 from pawl.items i where i.run_id = p_run and i.seq = a.item_seq for update;\n', '')],
    test: at(`${ledger}/verbs/items.test.ts`, 'the answer that comes while an item is parking waits for it'),
  },
  {
    name: 'a refused re-call taken for failed', breaks: 'a call that was applied is reported as proved not applied, and sent as new',
    edits: [edit(`${ledger}/flush.ts`, "when a.refused + 1 >= a.sends and a.applied_evidence is null then 'failed' else 'started' end", "else 'failed' end")],
    test: at(`${ledger}/flush.test.ts`, 'a send proved not applied while an earlier one is not'),
  },
  {
    name: 'finalizer rung by "I was last" alone', breaks: 'a run whose last worker died never ends',
    edits: [edit(`${harness}/sweeper.ts`, '    await this.#dispatchAll(open)\n', '')],
    test: at(`${harness}/closing.test.ts`, 'a run whose last item ended in a worker that died'),
  },
  {
    name: 'finalizer made without looking', breaks: 'a run is finalized while an item of it is live',
    edits: [edit(`${sql}/advance-run.sql`, "i.status in ('pending', 'in_progress', 'blocked')) then return; end if;", "i.status in ('in_progress', 'blocked')) then return; end if;")],
    test: at(`${ledger}/verbs/items.test.ts`, 'an item added while the run is about to be finalized is seen'),
  },
  {
    name: 'a worker takes an item of a version it does not serve', breaks: 'a tool whose key changed makes a finished call again',
    edits: [edit(`${sql}/claim-items.sql`, 'why := pawl.unserved_because(r, it, p_builds);', 'why := null;')],
    test: at(`${harness}/versions.test.ts`, 'a build whose tool changed and that did not keep the older one'),
  },
  {
    name: 'entries of evidence left whole', breaks: 'a list of calls takes gigabytes, and the process that asks for it dies',
    edits: [edit(`${ledger}/reads/list-actions.ts`, "evidence: shortenEach(actions.evidence, 'evidence'),", '')],
    test: at(`${ledger}/reads/bounded.test.ts`, 'every value of an action, one by one'),
  },
  {
    name: 'pages without an end', breaks: 'a thousand values of 64 kB each are one answer',
    edits: [edit(`${ledger}/reads/pages.ts`, 'return over === -1 ? sizes.length : over', 'return sizes.length')],
    test: at(`${ledger}/reads/bounded.test.ts`, 'one that is full before its limit ends there'),
  },
  {
    name: 'a call brought back to whoever has the older row', breaks: 'after a failover nobody finds out what became of a call: its run completes, or an item waits for ever',
    edits: [edit(`${sql}/bring-back-actions.sql`, '        item_seq = owner, epoch = case', '        epoch = case')],
    test: at(`${ledger}/verbs/bring-back.test.ts`, 'a takeover and its send are brought back to the item that took the key over'),
  },
  {
    name: 'a run that ends over an unsettled call of another item', breaks: 'nobody finds out what became of the call',
    edits: [edit(`${sql}/close-run.sql`, 'update pawl.actions a set item_seq = p_seq, epoch = 0 where a.run_id = p_run and', 'update pawl.actions a set item_seq = p_seq, epoch = 0 where false and')],
    test: at(`${ledger}/verbs/bring-back.test.ts`, 'a run does not end over an unsettled call of an item that has ended'),
  },
  {
    name: 'a clearing of what nobody was shown', breaks: 'calls that were lost in a failover are cleared away unseen',
    edits: [edit(`${sql}/clear-ledger.sql`, 'if pawl.gap_digest(l) is distinct from p_seen then', 'if false then')],
    test: at(`${ledger}/verbs/clear-ledger.test.ts`, 'lost calls that were noted after a person was shown the gap'),
  },
  {
    name: 'a lost call found after the clearing that is only logged', breaks: 'nobody is told of a call that was lost in a failover',
    edits: [edit(`${harness}/trust.ts`, "    if (isCleared || !(await noteLoss(this.ledger, seen, why, { workerId: this.workerId, lost }))) await this.#noteLate(lost)", '    if (!isCleared) await noteLoss(this.ledger, seen, why, { workerId: this.workerId, lost })')],
    test: at(`${harness}/trust.test.ts`, 'what it could not bring back holds the ledger once more'),
  },
  ...securityMutants,
]
