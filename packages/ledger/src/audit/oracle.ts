/**
 * The invariants that need a record of what receivers saw. `$1` is a run's id or null, `$2` that record as JSON (`at` in epoch milliseconds),
 * `$3` as JSON the tools it watches. The record is made by test receivers; production only says how many of these it could not check.
 */
import { limits } from '@pawl/core'
import { stops, type Invariant } from './invariants.ts'

const seen = `seen as (select * from json_to_recordset($2::json) as s(key text, "argsDigest" text, epoch integer, attempt integer, applied boolean, at double precision, tool text))`
const ofRun = (column: string): string => `($1::uuid is null or ${column} = $1::uuid)`
/** A send whose guard passed before the event may arrive this much later. */
const onTheWayMs = limits.sendWindowMs + 1_000
/** `timestamptz(3)` rounds. An action keeps the time of its newest intent only: a receipt of an earlier send has nothing to be compared with. */
const roundingMs = 5

export const oracleInvariants: readonly Invariant[] = [
  {
    invariant: 3, name: 'effect-has-intent', sentence: 'Every effect a receiver saw has an intent that was durable before it.',
    sql: `with ${seen} select $1::text as run_id, s.key, s.tool, s.at from seen s where not exists (select 1 from pawl.actions a where a.key = s.key and ${ofRun('a.run_id')}
      and (coalesce(s.attempt, 1) < a.attempt or extract(epoch from a.started_at) * 1000 <= s.at + ${roundingMs}))`,
  },
  {
    invariant: 4, name: 'committed-was-applied', sentence: 'Every committed write was applied by its receiver.',
    sql: `with ${seen} select a.run_id, a.key, a.tool, a.status from pawl.actions a where ${ofRun('a.run_id')} and a.status in ('committed', 'compensated')
      and a.effect in ('idempotent', 'non-idempotent') and a.tool in (select json_array_elements_text($3::json)) and not exists (select 1 from seen s where s.key = a.key and s.applied)`,
  },
  {
    invariant: 5, name: 'applied-once', sentence: 'Every key was applied at most once.',
    sql: `with ${seen} select $1::text as run_id, s.key, count(*)::integer as applied from seen s where s.applied group by s.key having count(*) > 1`,
  },
  {
    invariant: 6, name: 'sent-once', sentence: 'A non-idempotent call is received once, and again only after every earlier send was proved not applied.',
    sql: `with ${seen} select a.run_id, a.key, a.refused, n.receipts from pawl.actions a join (select s.key, count(*)::integer as receipts from seen s group by s.key) n on n.key = a.key
      where ${ofRun('a.run_id')} and a.effect = 'non-idempotent' and n.receipts > a.refused + 1`,
  },
  {
    invariant: 7, name: 'one-digest', sentence: 'One key carries one args digest, the intent’s.',
    sql: `with ${seen} select a.run_id, a.key, a.args_digest as intended, s."argsDigest" as received from pawl.actions a join seen s on s.key = a.key
      where ${ofRun('a.run_id')} and s."argsDigest" is not null and s."argsDigest" <> a.args_digest`,
  },
  {
    invariant: 16, name: 'no-effect-after-undo', sentence: 'No write is applied after its undo.',
    sql: `with ${seen} select o.run_id, o.key, f.at as applied_at, b.at as undone_at from pawl.actions u join pawl.actions o on o.run_id = u.run_id and o.id = u.undoes
      join seen b on b.key = u.key and b.applied join seen f on f.key = o.key and f.applied where ${ofRun('u.run_id')} and f.at > b.at`,
  },
  {
    invariant: 16, name: 'no-send-after-stop', sentence: 'No forward send, re-sends included, reaches a receiver after its run was cancelled or its compensation began; re-calls that can be undone apart.',
    sql: `with ${seen}, ${stops('$1')} select a.run_id, a.key, s.at, x.kind as after from stops x
      join pawl.actions a on a.run_id = x.run_id and a.undoes is null and not (a.effect = 'idempotent' and a.undo is not null)
      join seen s on s.key = a.key and s.at > extract(epoch from x.at) * 1000 + ${onTheWayMs} and (x.ends_at is null or s.at <= extract(epoch from x.ends_at) * 1000)`,
  },
]
