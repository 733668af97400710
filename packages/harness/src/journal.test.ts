import type { ActionRow } from '@pawl/ledger'
import { describe, expect, test } from 'vitest'
import { Journal } from './journal.ts'

const action = (id: number, given: Partial<ActionRow> = {}): ActionRow => ({
  run_id: 'r', id, order_no: id, item_seq: 1, key: `k${id}`, tool: 'pay', tool_version: '1', effect: 'idempotent', status: 'committed', attempt: 1, epoch: 1, token: null,
  sends: 1, refused: 0, args: 'null', args_digest: 'd', result: '1', evidence: [], applied_evidence: null, error: null, undo: null, undoes: null, turn: null, approval_id: null, staged_by: null, key_window_ms: null, settled_by: null,
  timeout_ms: 1, settle_ms: 1, key_expires_at: null, answerable_at: null, started_at: '', committed_at: null, ...given,
})
const refused = (id: number, error: object = {}, given: Partial<ActionRow> = {}) => action(id, { status: 'failed', error: JSON.stringify(error), ...given })
const ask = (key: string, given: Partial<Parameters<Journal['ask']>[0]> = {}) => ({ key, tool: 'pay', isWrite: true, argsDigest: 'd', ...given })
const kindOf = (journal: Journal, ...calls: Parameters<Journal['ask']>[0][]): string | undefined => calls.map((call) => journal.ask(call).kind).at(-1)

describe('a call under a recorded key', () => {
  test('replays what is committed', () => {
    expect(kindOf(new Journal([action(1)], [], false), ask('k1'))).toBe('replay')
  })

  test('with other args, or of another tool, is a conflict', () => {
    expect(kindOf(new Journal([action(1)], [], false), ask('k1', { argsDigest: 'other' }))).toBe('conflict')
    expect(kindOf(new Journal([action(1)], [], false), ask('k1', { tool: 'other' }))).toBe('conflict')
  })

  test('that was refused and told to the agent replays the error once the agent acted on it, by a call or a record', () => {
    expect(kindOf(new Journal([refused(1), action(2)], [], false), ask('k1'))).toBe('replay_error')
    expect(kindOf(new Journal([refused(1)], [{ name: 'x', order_no: 5, value: '1' }], false), ask('k1'))).toBe('replay_error')
  })

  test('that was refused last, or never told to the agent, is sent again', () => {
    expect(kindOf(new Journal([action(1), refused(2)], [], false), ask('k1'), ask('k2'))).toBe('again')
    expect(kindOf(new Journal([refused(1, { code: 'unsent' }), action(2)], [], false), ask('k1'))).toBe('again')
  })

  test('calls that were there when the error was told are no acting on it, however late they were sent again', () => {
    const sibling = action(2, { order_no: 9 })
    expect(kindOf(new Journal([refused(1, { after: 2 }), sibling], [], false), ask('k1'))).toBe('again')
    expect(kindOf(new Journal([refused(1, { after: 2 }), sibling, action(3)], [], false), ask('k1'))).toBe('replay_error')
  })
})

describe('a call that was refused', () => {
  test('beside a record that was under way is sent again; a record made after the error was told is acting on it', () => {
    const record = { name: 'now', order_no: 5, value: '1' }
    expect(kindOf(new Journal([refused(1, { after: 1, records: 1 })], [record], false), ask('k1'))).toBe('again')
    expect(kindOf(new Journal([refused(1, { after: 1, records: 0 })], [record], false), ask('k1'))).toBe('replay_error')
  })

  test('gives its key away to other args only while nothing proves that it was applied after all', () => {
    expect(new Journal([refused(1)], [], false).isFreeForOtherArgs('k1', 'other')).toBe(true)
    expect(new Journal([refused(1, {}, { applied_evidence: '1' })], [], false).isFreeForOtherArgs('k1', 'other')).toBe(false)
  })
})

test('a refused call is sent again as long as nothing was asked after it, and replays its error once something was (hole 6)', () => {
  const question = { run_id: 'r', id: 1, item_seq: 1, key: '1', order_no: 5, question: 'Go on?', answer_schema: '{}', status: 'void', answer: null, asked_at: '', answered_by: null, answered_at: null } as const
  expect(kindOf(new Journal([refused(1, { after: 1, records: 0, questions: 0 })], [], false, [], [question]), ask('k1'))).toBe('replay_error')
  expect(kindOf(new Journal([refused(1, { after: 1, records: 0, questions: 1 })], [], false, [], [question]), ask('k1'))).toBe('again')
  expect(kindOf(new Journal([refused(1)], [], false, [], [question]), ask('k1'))).toBe('replay_error')
})

describe('a call under a new key', () => {
  test('is fresh where every write of its tool was asked for', () => {
    expect(kindOf(new Journal([action(1)], [], false), ask('k1'), ask('new'))).toBe('fresh')
  })

  test('diverges while a write of its tool was not asked for; a read, another tool, a refused or an undone write do not count', () => {
    expect(kindOf(new Journal([action(1)], [], false), ask('new'))).toBe('diverged')
    expect(kindOf(new Journal([action(1)], [], false), ask('new', { isWrite: false }))).toBe('fresh')
    expect(kindOf(new Journal([action(1, { tool: 'other' })], [], false), ask('new'))).toBe('fresh')
    expect(kindOf(new Journal([refused(1)], [], false), ask('new'))).toBe('fresh')
    expect(kindOf(new Journal([action(1, { undoes: 5 })], [], false), ask('new'))).toBe('fresh')
  })

  test('diverges while the write of a tool the agent no longer has was not asked for: it may be the same under another name', () => {
    const retired = [action(1, { tool: 'mail' })]
    expect(kindOf(new Journal(retired, [], false, [], [], (name) => name === 'pay'), ask('new'))).toBe('diverged')
    expect(kindOf(new Journal(retired, [], true, [], [], (name) => name === 'pay'), ask('new'))).toBe('fresh')
    expect(kindOf(new Journal([action(1, { tool: 'mail', undoes: 5 })], [], false, [], [], (name) => name === 'pay'), ask('new'))).toBe('fresh')
  })

  test('is fresh where a person said that new calls are meant', () => {
    expect(kindOf(new Journal([action(1)], [], true), ask('new'))).toBe('fresh')
  })
})
