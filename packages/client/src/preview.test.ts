import type { ActionView, PreviewFacts, RunView } from '@pawl/ledger'
import { applied, defineTool } from '@pawl/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { previewVerb, type PreviewVerb } from './preview.ts'

const base = { version: '1', description: '', inputSchema: z.unknown(), outputSchema: z.unknown(), execute: async () => null }
const recall = defineTool({ ...base, name: 'recall', effect: 'idempotent' })
const tools = new Map([
  defineTool({ ...base, name: 'read', effect: 'read' }),
  defineTool({ ...base, name: 'keyed', effect: 'idempotent' }),
  defineTool({ ...base, name: 'keyed-undo', effect: 'idempotent', undo: { tool: recall, input: () => null } }),
  defineTool({ ...base, name: 'lookup', effect: 'non-idempotent', verify: async () => applied(null) }),
  defineTool({ ...base, name: 'opaque', effect: 'non-idempotent' }),
  defineTool({ ...base, name: 'row', effect: 'transactional' }),
].map((tool) => [tool.name, tool]))

const action = (tool: string, more: Partial<ActionView> = {}): ActionView => ({
  runId: 'r', id: 1, orderNo: 1, itemSeq: 1, key: 'k', tool, toolVersion: '1', effect: tools.get(tool)?.effect ?? 'non-idempotent', status: 'started', attempt: 1, sends: 1, refused: 0,
  args: 'null', result: null, evidence: [], appliedEvidence: null, error: null, undo: null, undoes: null, settledBy: null, timeoutMs: 1, keyExpiresAt: null, answerableAt: null, startedAt: new Date(), committedAt: null, ...more,
})
const run = (status: RunView['status']): RunView => ({
  id: 'r', namespace: 'default', agent: 'a', agentVersion: '1', modelVersion: null, promptVersion: null, schemaVersion: 1, lockDigest: null, status, paused: false, ending: 1, labels: {}, policy: { onFailure: 'hold' }, input: 'null', result: null, error: null, createdBy: 'x',
  createdAt: new Date(), startedAt: null, finishedAt: null, blockedReasons: {}, open: { pending: 1, inProgress: 2, blocked: 0 },
  tally: { total: 9, pending: 1, inProgress: 2, blocked: 0, done: 3, failed: 2, cancelled: 1, compensated: 0 },
})
const of = (...actions: ActionView[]) => ({ total: actions.length, actions })
const facts = (more: Partial<PreviewFacts> = {}): PreviewFacts => ({ committedInOpenItems: 4, stoppedSplits: 0, unsettled: of(), undoable: of(), residue: of(), lastRefused: of(), keysExpired: new Set(), ...more })

function fate(verb: PreviewVerb, unsettled: ActionView, expired = false): string {
  const preview = previewVerb(verb, run('running'), facts({ unsettled: of(unsettled), keysExpired: new Set(expired ? [unsettled.id] : []) }), tools)
  return (['calledAgain', 'verified', 'asked'] as const).filter((list) => preview[list].length > 0).join()
}

describe('an unsettled call, by what its tool can do', () => {
  test.each<[string, string, string]>([
    ['read', 'calledAgain', 'verified'], ['keyed', 'calledAgain', 'asked'], ['keyed-undo', 'calledAgain', 'calledAgain'],
    ['lookup', 'verified', 'verified'], ['opaque', 'asked', 'asked'], ['row', 'calledAgain', 'verified'], ['unknown', 'asked', 'asked'],
  ])('%s: a resume has it %s; cancel and compensate, which send nothing forward, %s', (tool, resumed, stopped) => {
    expect([fate('resume', action(tool)), fate('cancel', action(tool)), fate('compensate', action(tool))]).toEqual([resumed, stopped, stopped])
  })
  test('past its key window it is asked about, or verified', () => expect(fate('resume', action('keyed'), true)).toBe('asked'))
  test('of another version of the tool it is asked about', () => expect(fate('resume', action('keyed', { toolVersion: '0' }))).toBe('asked'))
  test('in doubt already it stays with people', () => expect(fate('resume', action('lookup', { status: 'in_doubt' }))).toBe('asked'))
  test('with a result that came late it needs nobody', () => expect(fate('resume', action('opaque', { appliedEvidence: '1' }))).toBe('verified'))
})

describe('the counts', () => {
  test('a resume of an ended run sends failed and cancelled items round and uses what is committed', () => {
    expect(previewVerb('resume', run('failed'), facts({ lastRefused: of(action('keyed', { status: 'failed' })) }), tools)).toMatchObject({
      isAllowed: true, items: { again: 3, stopped: 0, kept: 3 }, skipped: 4, calledAgain: [{ tool: 'keyed' }], undone: [],
    })
  })
  test('a run that was cancelled while it was split goes on with its split', () => {
    const stopped = { ...run('cancelled'), tally: { ...run('cancelled').tally, failed: 0, cancelled: 0 } }
    expect(previewVerb('resume', stopped, facts({ stoppedSplits: 1 }), tools).items.again).toBe(1)
    expect(previewVerb('cancel', { ...stopped, status: 'splitting' }, facts({ stoppedSplits: 1 }), tools).items.again).toBe(0)
  })
  test('a compensation lists its undos in the order given and what stands', () => {
    const preview = previewVerb('compensate', run('failed'), facts({ undoable: of(action('keyed', { id: 9 }), action('keyed', { id: 3 })), residue: of(action('opaque', { status: 'abandoned' })) }), tools)
    expect(preview.undone.map((each) => each.action)).toEqual([9, 3])
    expect(preview.residue).toMatchObject([{ tool: 'opaque', why: expect.stringContaining('nobody knows') as string }])
  })
  test('what the verb would refuse is said', () => {
    expect(previewVerb('resume', run('compensated'), facts(), tools).isAllowed).toBe(false)
    expect(previewVerb('cancel', run('completed'), facts(), tools).isAllowed).toBe(false)
  })
})
