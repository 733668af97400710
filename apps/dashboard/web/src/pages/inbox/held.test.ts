/** The list holds still, and nothing is answered that was not shown. */
import type { InboxItem } from '@pawl/client/http'
import { describe, expect, test } from 'vitest'
import { groupCalls, hold, idOf, isChanged, read, tidy } from './held.ts'

const at = new Date('2026-01-01T00:00:00Z')

function call(actionId: number, digest: string, tool = 'mail.send', runId = 'run-1'): InboxItem {
  return {
    kind: 'approval', runId, agent: 'mailing', itemSeq: actionId, itemKey: `item-${actionId}`, attempts: 1,
    approval: {
      runId, id: actionId * 10, actionId, digest, itemSeq: actionId, tool, toolVersion: '1', effect: 'non-idempotent', key: `key-${actionId}`, args: {}, argsText: `{"digest":"${digest}"}`,
      irreversible: false, isStaged: false, sends: 0, status: 'open', requestedAt: at, expiresAt: at,
    },
  }
}
const blocked = (itemSeq: number, detail: unknown = {}): InboxItem => ({ kind: 'blocked', runId: 'run-1', agent: 'mailing', itemSeq, itemKey: 'a', itemKind: 'work', reason: 'crash_loop', detail, attempts: 5, failures: 0, verbs: ['resume'] })
const ids = (held: ReturnType<typeof hold>): string[] => held.map(({ id }) => id)

describe('what is shown', () => {
  test('keeps its order whatever the ledger sorts; what comes later is appended', () => {
    const first = hold([], [call(2, 'b'), blocked(9)], true)
    const then = hold(first, [call(1, 'a'), call(2, 'b'), blocked(9)], true)
    expect(ids(then)).toEqual([idOf(call(2, 'b')), idOf(blocked(9)), idOf(call(1, 'a'))])
  })

  test('what no longer waits stays in its place until it is put away', () => {
    const then = hold(hold([], [call(1, 'a'), call(2, 'b')], true), [call(2, 'b')], true)
    expect(then.map(({ now }) => now === undefined)).toEqual([true, false])
    expect(ids(tidy(then))).toEqual([idOf(call(2, 'b'))])
  })

  test('what may be on a page that was not asked for is not taken for gone', () => {
    const then = hold(hold([], [call(1, 'a'), call(2, 'b')], true), [call(2, 'b')], false)
    expect(then.every(({ now }) => now !== undefined)).toBe(true)
  })

  test('a call that became another one is changed until somebody has read it; the answer is about what was shown', () => {
    const then = hold(hold([], [call(1, 'small')], true), [call(1, 'large')], true)
    expect(then.map((one) => [isChanged(one), one.entry])).toEqual([[true, call(1, 'small')]])
    const known = read(then, idOf(call(1, 'large')))
    expect(known.map((one) => [isChanged(one), one.entry])).toEqual([[false, call(1, 'large')]])
  })

  test('a call that takes the place of another is the same thing to decide, changed', () => {
    const [small, large] = [call(1, 'small'), call(2, 'large')]
    if (small.kind !== 'approval' || large.kind !== 'approval') throw new Error('both are calls')
    const next = { ...large, approval: { ...large.approval, key: `${small.approval.key}~2` } }
    const then = hold(hold([], [small], true), [next], true)
    expect(then.map((one) => [isChanged(one), one.entry, one.now])).toEqual([[true, small, next]])
  })

  test('what only counts on is no change', () => {
    const before = blocked(3)
    const then = hold(hold([], [before], true), [{ ...before, attempts: 6 } as InboxItem], true)
    expect(then.map((one) => [isChanged(one), one.entry.kind === 'blocked' && one.entry.attempts])).toEqual([[false, 6]])
    expect(hold(then, [blocked(3, { barrenAttempts: 9 })], true).map(isChanged)).toEqual([true])
  })
})

test('calls of one tool in one run are decided together; neither what changed nor what is gone is among them', () => {
  const first = hold([], [call(1, 'a'), call(2, 'b'), call(3, 'c'), call(4, 'd', 'bank.payout'), call(5, 'e', 'mail.send', 'run-2')], true)
  const then = hold(first, [call(1, 'a'), call(2, 'b'), call(3, 'another'), call(4, 'd', 'bank.payout'), call(5, 'e', 'mail.send', 'run-2')], true)
  expect(groupCalls(then).map(({ runId, tool, held }) => [runId, tool, held.map(({ entry }) => entry.itemSeq)])).toEqual([['run-1', 'mail.send', [1, 2]]])
})
