import type { ActionRow } from '@pawl/ledger'
import { defineTool, notApplied, type AnyTool } from '@pawl/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { planSettle, type SettleRules } from './settle-plan.ts'

const base = { name: 't', version: '1', description: '', inputSchema: z.unknown(), outputSchema: z.unknown(), execute: () => Promise.resolve(null) }
const undoTool = defineTool({ ...base, name: 'u', effect: 'idempotent' })
const undo = { tool: undoTool, input: () => null }
const verify = () => Promise.resolve(notApplied())
const tools = {
  read: defineTool({ ...base, effect: 'read' }), tx: defineTool({ ...base, effect: 'transactional' }),
  keyed: defineTool({ ...base, effect: 'idempotent' }), concurrent: defineTool({ ...base, effect: 'idempotent', concurrent: true, undo }),
  precondition: defineTool({ ...base, effect: 'idempotent', precondition: true }), keyedVerify: defineTool({ ...base, effect: 'idempotent', verify }),
  lookup: defineTool({ ...base, effect: 'non-idempotent', verify }), opaque: defineTool({ ...base, effect: 'non-idempotent' }),
}
const forward: SettleRules = { isForwardAllowed: true, isKeyExpired: false, isExhausted: false }
const stopped: SettleRules = { ...forward, isForwardAllowed: false }

const started = (tool: AnyTool, given: Partial<ActionRow> = {}): ActionRow => ({
  run_id: 'r', id: 1, order_no: 1, item_seq: 1, key: 'k', tool: tool.name, tool_version: tool.version, effect: tool.effect, status: 'started', attempt: 1, epoch: 1, token: null,
  sends: 1, refused: 0, args: 'null', args_digest: 'd', result: null, evidence: [], applied_evidence: null, error: null, undo: null, undoes: null, turn: null, approval_id: null, staged_by: null, key_window_ms: null, settled_by: null,
  timeout_ms: 1, settle_ms: 1, key_expires_at: null, answerable_at: null, started_at: '', committed_at: null, ...given,
})
const plan = (tool: AnyTool, rules: SettleRules, given: Partial<ActionRow> = {}) => {
  const found = planSettle(started(tool, given), tool, rules)
  return found.kind === 'ask' ? { kind: found.kind } : found
}

describe('an unsettled action', () => {
  test.each([
    ['a read is dropped', tools.read, { kind: 'drop' }],
    ['a transactional one is told by its row', tools.tx, { kind: 'drop' }],
    ['a keyed one is called again after the wait', tools.keyed, { kind: 'recall', waits: true }],
    ['one whose receiver deduplicates running calls is called again at once', tools.concurrent, { kind: 'recall', waits: false }],
    ['one under a precondition is called again at once', tools.precondition, { kind: 'recall', waits: false }],
    ['one that can be asked about is asked about', tools.lookup, { kind: 'verify' }],
    ['one nobody can tell about is for a person', tools.opaque, { kind: 'ask' }],
  ])('%s', (_, tool, expected) => {
    expect(plan(tool, forward)).toEqual(expected)
  })

  test.each([
    ['a keyed one without undo', tools.keyed, { kind: 'ask' }], ['a keyed one that can be asked about', tools.keyedVerify, { kind: 'verify' }],
    ['a keyed one with undo', tools.concurrent, { kind: 'recall', waits: false }], ['an opaque one', tools.opaque, { kind: 'ask' }],
  ])('of a stopped run is sent forward only if it can be undone and cannot be asked about: %s', (_, tool, expected) => {
    expect(plan(tool, stopped)).toEqual(expected)
  })

  test('an undo is no forward effect', () => {
    expect(plan(tools.keyed, stopped, { undoes: 7 })).toEqual({ kind: 'recall', waits: true })
  })

  test('past its key window it is not repeated: verify, else a person', () => {
    expect(plan(tools.keyedVerify, { ...forward, isKeyExpired: true })).toEqual({ kind: 'verify' })
    expect(plan(tools.keyed, { ...forward, isKeyExpired: true })).toEqual({ kind: 'ask' })
  })

  test('evidence comes before everything, also in a build that lacks the tool', () => {
    expect(planSettle(started(tools.opaque, { applied_evidence: '1' }), undefined, stopped)).toEqual({ kind: 'evidence' })
  })

  test('a tool that is missing, or of another version or effect, is a person\'s matter', () => {
    expect(planSettle(started(tools.keyed), undefined, forward).kind).toBe('ask')
    expect(plan(tools.keyed, forward, { tool_version: '0' }).kind).toBe('ask')
    expect(plan(tools.keyed, forward, { effect: 'non-idempotent' }).kind).toBe('ask')
  })
})
