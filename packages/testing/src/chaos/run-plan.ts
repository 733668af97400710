/** What each run of a chaos run does, from the seed and its number alone: workers, driver and judge all draw the same plan. Pure. */
import type { Fault } from '../effects-server.ts'
import type { Chance } from './chance.ts'

export const CALL_TOOLS = ['read', 'keyed', 'keyedSlow', 'lookup', 'opaque', 'tx'] as const
/** `shared`: one key for several items. `asked`: a person is asked first. `staged`: sent by the finalizer. */
/** Written down before they may be sent: by a person's yes, or at the end of the run. */
export const KEPT_TOOLS = ['asked', 'staged'] as const
export type CallTool = (typeof CALL_TOOLS)[number] | 'shared' | (typeof KEPT_TOOLS)[number]

export interface PlannedCall {
  readonly tool: CallTool
  /** Unique in the whole chaos run, but for `shared`: unique in its run. */
  readonly subject: string
}

export interface PlannedItem {
  readonly key: string
  /** Calls of one step go in parallel. */
  readonly steps: readonly (readonly PlannedCall[])[]
  readonly ending: 'done' | 'throws' | 'throws until resumed'
}

/** What happens to the run from outside, or by its policy. */
export type RunKind = 'plain' | 'split' | 'paused' | 'compensated by policy' | 'compensated by a person' | 'cancelled' | 'cancelled, then compensated' | 'resumed'

export interface RunPlan {
  readonly n: number
  readonly kind: RunKind
  readonly items: readonly PlannedItem[]
  readonly last: PlannedCall
}

const kinds: readonly (readonly [RunKind, number])[] = [
  ['plain', 0.38], ['split', 0.1], ['paused', 0.05], ['compensated by policy', 0.16], ['compensated by a person', 0.14], ['cancelled', 0.05], ['cancelled, then compensated', 0.05], ['resumed', 0.07],
]

function kindOf(chance: Chance, n: number): RunKind {
  let left = chance.draw('kind', n)
  for (const [kind, share] of kinds) if ((left -= share) < 0) return kind
  return 'plain'
}

export function planRun(chance: Chance, n: number): RunPlan {
  const kind = kindOf(chance, n)
  const hasShared = chance.happens(0.35, 'shared', n)
  const items = Array.from({ length: chance.between(3, 6, 'items', n) }, (_, i): PlannedItem => {
    const steps = Array.from({ length: chance.between(1, 3, 'steps', n, i) }, (__, s) =>
      Array.from({ length: chance.happens(0.3, 'parallel', n, i, s) ? chance.between(2, 3, 'width', n, i, s) : 1 }, (___, c): PlannedCall =>
        ({ tool: chance.pick(CALL_TOOLS, 'tool', n, i, s, c), subject: `${n}.${i}.${s}.${c}` })))
    const asked: PlannedCall[][] = chance.happens(0.12, 'asked', n, i) ? [[{ tool: 'asked', subject: `${n}.${i}.asked` }]] : []
    const staged: PlannedCall[][] = chance.happens(0.12, 'staged', n, i) ? [[{ tool: 'staged', subject: `${n}.${i}.staged` }]] : []
    const shared: PlannedCall[][] = hasShared ? [[{ tool: 'shared', subject: `${n}.shared` }]] : []
    return { key: `item-${i}`, steps: [...staged, ...steps, ...shared, ...asked], ending: endingOf(kind, i) }
  })
  return { n, kind, items, last: { tool: chance.pick(['keyed', 'lookup', 'tx'], 'last', n), subject: `${n}.last` } }
}

function endingOf(kind: RunKind, i: number): PlannedItem['ending'] {
  if (i > 0) return 'done'
  return kind === 'compensated by policy' ? 'throws' : kind === 'resumed' ? 'throws until resumed' : 'done'
}

export const callsOf = (plan: RunPlan): readonly PlannedCall[] => [...new Map([...plan.items.flatMap((item) => item.steps.flat()), plan.last].map((call) => [call.subject, call])).values()]

const slowly: readonly Fault[] = [{ delayBeforeMs: 300 }]
const busy: readonly Fault[] = [{ refuse: 429, retryAfterSeconds: 0 }]
const lostAfter: readonly Fault[] = [{ drop: 'after' }]
const lostBefore: readonly Fault[] = [{ drop: 'before' }]
const broken: readonly Fault[] = [{ errorAfter: 500 }]
const faultsOf: Readonly<Record<CallTool, readonly [readonly Fault[], ...(readonly Fault[])[]]>> = {
  read: [lostBefore, broken, slowly],
  keyed: [lostAfter, lostBefore, broken, [{ drop: 'after' }, { refuse: 401 }], [{ drop: 'after' }, { refuse: 401 }], busy, slowly],
  shared: [lostAfter, lostBefore, broken, busy, slowly],
  keyedSlow: [lostAfter, lostBefore, broken, [{ drop: 'after' }, { refuse: 401 }], busy, slowly],
  lookup: [[{ drop: 'after', hiddenMs: 100 }], lostBefore, broken, busy, slowly],
  opaque: [lostAfter, lostBefore, broken, busy, slowly, slowly, busy],
  asked: [[{ drop: 'after', hiddenMs: 100 }], lostBefore, broken, slowly],
  staged: [lostAfter, lostBefore, broken, slowly],
  tx: [[]],
}

/** What the receiver does wrong to a call, one fault per receipt, in order. */
export function planReceiverFaults(chance: Chance, call: PlannedCall): readonly Fault[] {
  return chance.happens(call.tool === 'opaque' ? 0.12 : 0.2, 'receiver', call.subject) ? chance.pick(faultsOf[call.tool], 'fault', call.subject) : []
}
