/** Every case with a literal form, one line each, in the order of docs/cases.md. */
import { case01 } from './a-lost-ownership/case-01-slow-worker.ts'
import { case02 } from './a-lost-ownership/case-02-cut-off-worker.ts'
import { case04 } from './a-lost-ownership/case-04-two-crashes.ts'
import { case05, case08 } from './a-lost-ownership/case-05-poison-call.ts'
import { case06 } from './a-lost-ownership/case-06-late-answer.ts'
import { case10 } from './a-lost-ownership/case-10-dead-worker.ts'
import { case11 } from './b-in-doubt/case-11-crash-points.ts'
import { case14 } from './b-in-doubt/case-14-not-found.ts'
import { case20 } from './b-in-doubt/case-20-late-marker.ts'
import { case27 } from './c-identity/case-27-repeated-start.ts'
import { onGround } from './case-ground.ts'
import { case34 } from './d-queue-and-ledger/case-34-enqueue-around-the-commit.ts'
import { case38 } from './d-queue-and-ledger/case-38-large-results.ts'
import { case39 } from './d-queue-and-ledger/case-39-keys-evicted.ts'
import { case41 } from './d-queue-and-ledger/case-41-submitted-again.ts'
import { case42 } from './d-queue-and-ledger/case-42-sibling-at-work.ts'
import { case48 } from './d-queue-and-ledger/case-48-rate-limited.ts'
import { case84 } from './i-closing/case-84-closed-once.ts'
import { literal85 } from './i-closing/case-85-wake-up-lost.ts'
import { case86 } from './i-closing/case-86-cancelled-in-flight.ts'
import { case90, groundFor90 } from './j-executors/case-90-stale-list.ts'
import { case92 } from './j-executors/case-92-rolling-restart.ts'
import { case104, groundFor104 } from './l-process-life/case-104-stopped-in-hand.ts'
import type { LiteralCase } from './literal-case.ts'
import { case108 } from './m-schema/case-108-started-at-once.ts'

export const allCases: readonly LiteralCase[] = [
  case01,
  case02,
  case04,
  case05,
  case06,
  case08,
  case10,
  case11,
  case14,
  case20,
  case27,
  { id: 34, title: 'a commit three seconds after its doorbell, one that never comes, and a doorbell that never comes', run: (services) => onGround(services, {}, (ground, found) => case34(ground, found, { commitDelayMs: 3_000 })) },
  { id: 38, title: '200 results of 5 MB, and Redis grows by less than 50 MB', run: (services) => case38(services, { items: 200, resultBytes: 5_000_000, mostGrowthBytes: 50_000_000 }) },
  { id: 39, title: 'half of the queue’s keys evicted ten times under 300 items', run: (services) => case39(services, { items: 300, evictions: 10 }) },
  { id: 41, title: 'a run of 500 items submitted again half done and done', run: (services) => onGround(services, {}, (ground, found) => case41(ground, found, { items: 500 })) },
  { id: 42, title: 'a sibling inside a call of 30 s when an item fails', run: (services) => onGround(services, { windows: { timeoutMs: 60_000 } }, (ground, found) => case42(ground, found, { callMs: 30_000 })) },
  { id: 48, title: '30 refusals with Retry-After, three attempts', run: (services) => onGround(services, {}, (ground, found) => case48(ground, found, { refusals: 30, retryAfterSeconds: 1 })) },
  { id: 84, title: '500 runs of 10 instant items', run: (services) => onGround(services, { workers: 3 }, (ground, found) => case84(ground, found, { runs: 500, items: 10 })) },
  { id: 85, title: 'Postgres away for two seconds at the close', run: (services) => literal85(services, 2_000) },
  { id: 86, title: 'a cancelled call that lands ten seconds later', run: (services) => onGround(services, { windows: { timeoutMs: 30_000 } }, (ground, found) => case86(ground, found, { landsAfterMs: 10_000 })) },
  { id: 90, title: 'five recoverers of a hundred unsettled calls', run: (services) => onGround(services, groundFor90(100), (ground, found) => case90(ground, found, { calls: 100, recoverers: 5 })) },
  { id: 92, title: 'five rolling restarts under one name, 20 items', run: (services) => onGround(services, { workers: 0, concurrency: 4 }, (ground, found) => case92(ground, found, { items: 20, restarts: 5 })) },
  { id: 104, title: 'a stop in a call of 45 s with 60 s and with 30 s of grace', run: (services) => onGround(services, groundFor104(45_000), (ground, found) => case104(ground, found, { callMs: 45_000, graceMs: 60_000, shortGraceMs: 30_000 })) },
  { id: 108, title: 'three instances on an empty database, 20 times', run: (services) => case108(services, { instances: 3, times: 20 }) },
]
