/** What people look at beside a run itself: counts, pictures, groups, the fleet and its tools. The same rules as in `wire.ts`. */
import { EFFECTS, ITEM_STATUSES, RUN_STATUSES } from '@pawl/core'
import { z } from 'zod'
import { fromWire, toWire } from './wire.ts'

const at = z.iso.datetime().transform((text) => new Date(text))
const count = z.number().int()

export const runCountsSchema = z.object({
  byStatus: z.partialRecord(z.enum(RUN_STATUSES), count),
  /** Entries of the inbox, whatever the filter; 1,000 stands for that many or more. */
  waiting: count,
})
export type RunCounts = z.infer<typeof runCountsSchema>

export const squaresSchema = z.object({
  runId: z.string(), at,
  /** Work items. */
  total: count,
  /** In the order of seq, as number and letter: `12d3p1b`. p pending, a in progress, d done, f failed, c cancelled, u undone, b blocked. */
  states: z.string(),
  /** Which seqs these are, as [first, how many]: other kinds of items have seqs in between. */
  seqs: z.array(z.tuple([count, count])),
})
export type Squares = z.infer<typeof squaresSchema>

export const failuresSchema = z.object({
  /** Most frequent first, at most 100. */
  groups: z.array(z.object({
    status: z.enum(ITEM_STATUSES),
    /** Of blocked items why they wait, of failed ones the error's name. */
    reason: z.string(),
    /** With numbers and ids as `#`. */
    message: z.string(),
    count,
    /** The first five. */
    seqs: z.array(count),
  })),
})
export type Failures = z.infer<typeof failuresSchema>

export const paceSchema = z.object({
  /** Items done in each minute, oldest first; a minute without any is there, too. */
  perMinute: z.array(z.object({ at, done: count })),
  /** Null: nothing is left, or nothing moves. */
  etaMs: z.number().nullable(),
})
export type Pace = z.infer<typeof paceSchema>

export const spentSchema = z.object({ turns: count, tokens: z.number(), costMicros: z.number() })
/** What a run's models took, all items together. */
export type Spent = z.infer<typeof spentSchema>

export const attemptsSchema = z.object({
  entries: z.array(z.object({
    epoch: count, workerId: z.string(), startedAt: at, agentVersion: z.string(), modelVersion: z.string().nullable(), promptVersion: z.string().nullable(),
    /** The agent version of the worker's own code, where it serves older ones. */
    build: z.string().nullable(),
    /** What became of it, in a word or two; null while it is at work. */
    ended: z.string().nullable(),
  })),
})
export type Attempts = z.infer<typeof attemptsSchema>

export const turnsSchema = z.object({
  entries: z.array(z.object({
    n: count, epoch: count, modelVersion: z.string(), promptVersion: z.string(),
    /** The model's whole answer: text, calls, why it stopped. */
    decision: z.unknown().transform(fromWire), inputTokens: count, outputTokens: count, costMicros: count, at,
  })),
})
export type Turns = z.infer<typeof turnsSchema>
export const turnsToWire = ({ entries }: Turns) => ({ entries: entries.map((turn) => ({ ...turn, decision: toWire(turn.decision) })) })

const load = z.object({ waiting: count, active: count, delayed: count, failed: count })

/** Of the whole ledger, whatever the namespace: processes belong to none. */
export const fleetSchema = z.object({
  workers: z.array(z.object({
    id: z.string(), name: z.string(), host: z.string(), pid: count, startedAt: at, seenAt: at,
    /** `agent@version`, each. */
    serves: z.array(z.string()),
    /** Items in its hands. */
    leases: count,
    /** Of everything its code has for its agents: alike where two processes run the same code. */
    build: z.string(),
    isLive: z.boolean(),
  })),
  /** Null: the queue's store does not answer, or this client has none. */
  queues: z.array(load.extend({ name: z.string(), agent: z.string().nullable(), version: z.string().nullable() })).nullable(),
  backlog: z.object({ due: count, delayed: count, oldestDueMs: z.number().nullable() }),
  /** Actions that are started, and those only a person can settle. */
  unsettled: count, inDoubt: count,
  drift: z.object({
    /** Items in progress under a lease that has ended. */
    orphans: count,
    /** Items that wait for an agent version no live worker serves. */
    unserved: z.array(z.object({ agent: z.string(), version: z.string(), items: count })),
    /** Items blocked `version`: what their build would have to have, and one run of theirs. */
    lacking: z.array(z.object({ agent: z.string(), version: z.string(), items: count, runId: z.string(), lacks: z.string() })),
    /** Jobs on the queue of an agent version, more or fewer than the ledger has rung for. Null where the queue does not answer. */
    queue: z.array(z.object({ agent: z.string(), version: z.string(), rung: count, onQueue: count })).nullable(),
  }),
  /** Null: nobody sweeps. */
  sweeper: z.object({ holder: z.string(), leaseUntil: at, cycles: count, isLive: z.boolean() }).nullable(),
})
export type Fleet = z.infer<typeof fleetSchema>

export const toolsSchema = z.object({
  agents: z.array(z.object({
    agent: z.string(), version: z.string(), serves: z.array(z.string()), modelVersion: z.string().nullable(), promptVersion: z.string().nullable(),
    tools: z.array(z.object({
      name: z.string(), version: z.string(), description: z.string(), effect: z.enum(EFFECTS), key: z.enum(['by meaning', 'by place']), verify: z.boolean(),
      /** The tool that takes it back. */
      undo: z.string().nullable(),
      irreversible: z.boolean(), approval: z.enum(['never', 'always', 'decided by the input']), stage: z.boolean(), timeoutMs: count, settleWindowMs: count,
      /** Null: the receiver never forgets a key. */
      keyWindowMs: count.nullable(),
    })),
  })),
})
export type Tools = z.infer<typeof toolsSchema>
