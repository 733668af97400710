import { expect, test } from 'vitest'
import type { Classification } from './classification.ts'
import type { Hints } from './definition.ts'
import { tighten } from './tighten.ts'

const bools = [undefined, true, false] as const
const allHints: Hints[] = bools.flatMap((readOnlyHint) => bools.flatMap((destructiveHint) => bools.map((idempotentHint) => ({
  ...(readOnlyHint === undefined ? {} : { readOnlyHint }), ...(destructiveHint === undefined ? {} : { destructiveHint }), ...(idempotentHint === undefined ? {} : { idempotentHint }),
}))))
const said: Classification[] = (['read', 'idempotent', 'non-idempotent'] as const).flatMap((effect) => [{ effect }, { effect, approval: 'never' as const }, { effect, approval: 'always' as const }])
const strictness = { 'read': 0, 'idempotent': 1, 'non-idempotent': 2 }
const asks = (approval: Classification['approval']): number => (approval === 'always' ? 1 : 0)

test('no combination of hints makes any classification laxer', () => {
  const laxer = allHints.flatMap((hints) => said.filter((one) => {
    const { classification } = tighten(one, hints)
    return strictness[classification.effect] < strictness[one.effect] || asks(classification.approval) < asks(one.approval)
  }).map((one) => ({ one, hints })))
  expect(laxer).toEqual([])
})

test('hints that flatter change nothing, and nothing is said about them', () => {
  for (const one of said) expect(tighten(one, { readOnlyHint: true, idempotentHint: true, destructiveHint: false })).toEqual({ classification: one, because: [] })
})

test('a read that its server calls a write is non-idempotent, and a person is asked', () => {
  expect(tighten({ effect: 'read' }, { readOnlyHint: false })).toMatchObject({ classification: { effect: 'non-idempotent', approval: 'always' }, because: [expect.stringContaining('readOnlyHint: false')] })
})

test('idempotent is not believed against the server, and what speaks about repeats goes with it', () => {
  expect(tighten({ effect: 'idempotent', keyWindow: '1h', concurrent: true, precondition: true, approval: 'never' }, { idempotentHint: false }).classification).toEqual({ effect: 'non-idempotent', approval: 'never' })
})

test('a destructive tool is asked about unless its approval was stated', () => {
  expect(tighten({ effect: 'non-idempotent' }, { destructiveHint: true }).classification.approval).toBe('always')
  expect(tighten({ effect: 'non-idempotent', approval: 'never' }, { destructiveHint: true }).classification.approval).toBe('never')
})

test('hints that were read and set aside tighten nothing', () => {
  expect(tighten({ effect: 'read', hints: 'ignore' }, { readOnlyHint: false })).toEqual({ classification: { effect: 'read', hints: 'ignore' }, because: [] })
})
