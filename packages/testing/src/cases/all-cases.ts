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
import type { LiteralCase } from './literal-case.ts'

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
]
