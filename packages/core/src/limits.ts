/** Every limit and default in one place, each with its reason. Milliseconds and bytes unless the name says otherwise. */
export const limits = {
  /** How long an item is a worker's. Long enough for three missed renewals, short enough that another host takes over soon. */
  leaseMs: 15_000,
  /** One renewal batch per process. */
  renewEveryMs: 5_000,
  /** How long after its durable intent a send may begin. Added to every wait before `verify`. */
  sendWindowMs: 5_000,
  toolTimeoutMs: 30_000,
  /** How long a receiver may take to make an applied effect visible to `verify`. */
  settleWindowMs: 30_000,
  /** Of a timeout, and of a settle window: their sum fits Node's timers, which turn what is over 24.8 days into 1 ms, and the ledger's integers. */
  toolWaitMostMs: 864_000_000,
  maxFailures: 5,
  /** Consecutive attempts without verdict or progress before `crash_loop`. */
  crashBudget: 5,
  /** From this barren attempt on an item runs alone, so that a poison item does not condemn its neighbours. */
  suspectAfter: 2,
  /** Jobs of one run on the queue at once: keeps the queue's store small whatever the run's size. */
  dispatchWindow: 1_000,
  /** A dispatched item nobody claimed for this long has its job looked up. */
  undeliveredAfterMs: 30_000,
  sweepEveryMs: 1_000,
  sweeperLeaseMs: 10_000,
  heartbeatEveryMs: 5_000,
  /** A worker silent for this long is gone. */
  workerGoneAfterMs: 60_000,
  /** How long a worker remembers its calls, for a ledger that loses them. A replica further behind than this is an outage of its own, which people hear of. */
  rememberedForMs: 15 * 60_000,
  /** How long a request for a person's yes waits before it is asked anew: a week, so that a weekend and a holiday fit in. */
  approvalExpiresMs: 604_800_000,
  /** Nobody serves an agent version for this long: what waits for it is blocked, visibly. A rolling deploy takes less. */
  versionGraceMs: 60_000,
  stopGraceMs: 25_000,
  /** An unsealed stream of items nobody continues is removed after this. */
  streamAbandonedAfterMs: 600_000,
  argsBytes: 1_000_000,
  payloadBytes: 1_000_000,
  resultBytes: 10_000_000,
  /** A person reads it. */
  questionChars: 20_000,
  answerBytes: 1_000_000,
  itemsPerRun: 10_000_000,
  itemKeyChars: 300,
  /** Verify answered `unknown` this often: a person decides. */
  verifyAttempts: 5,
  /** How long a call that does not fit the journal waits for the rest of the agent before the item blocks `diverged`. */
  divergedHoldMs: 1_000,
  /** Server-side limit of one ledger statement, and the client's deadline for its answer. */
  statementTimeoutMs: 10_000,
  statementDeadlineMs: 15_000,
  jobsKept: 1_000,
  jobsKeptForMs: 86_400_000,
} as const
