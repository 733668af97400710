import type { PreviewedAction, PreviewFacts, RunView, Sample } from '@pawl/ledger'
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

const action = (tool: string, more: Partial<PreviewedAction> = {}): PreviewedAction => ({
  id: 1, itemSeq: 1, key: 'k', tool, toolVersion: '1', effect: tools.get(tool)?.effect ?? 'non-idempotent', status: 'started', isUndo: false, isProved: false, isKeyExpired: false, ...more,
})
const run = (status: RunView['status']): RunView => ({
  id: 'r', namespace: 'default', agent: 'a', agentVersion: '1', modelVersion: null, promptVersion: null, schemaVersion: 1, lockDigest: null, status, paused: false, ending: 1, labels: {}, policy: { onFailure: 'hold' }, input: 'null', result: null, error: null, createdBy: 'x',
  createdAt: new Date(), startedAt: null, finishedAt: null, blockedReasons: {}, open: { pending: 1, inProgress: 2, blocked: 0 },
  tally: { total: 9, pending: 1, inProgress: 2, blocked: 0, done: 3, failed: 2, cancelled: 1, compensated: 0 },
})
const of = (...actions: PreviewedAction[]): Sample => ({ total: actions.length, actions })
/** Of the unsettled ones only `first` are shown. */
const unsettledOf = (actions: readonly PreviewedAction[], first = actions.length): Pick<PreviewFacts, 'unsettled' | 'unsettledByKind'> =>
  ({ unsettled: { total: actions.length, actions: actions.slice(0, first) }, unsettledByKind: actions.map((each) => ({ ...each, n: 1 })) })
const facts = (more: Partial<PreviewFacts> = {}): PreviewFacts => ({ committedInOpenItems: 4, stoppedSplits: 0, ...unsettledOf([]), undoable: of(), residue: of(), lastRefused: of(), ...more })

function fate(verb: PreviewVerb, unsettled: PreviewedAction): string {
  const preview = previewVerb(verb, run('running'), facts(unsettledOf([unsettled])), tools)
  return (['calledAgain', 'verified', 'asked'] as const).filter((list) => preview[list].length > 0 && preview.counts[list] === 1).join()
}

describe('an unsettled call, by what its tool can do', () => {
  test.each<[string, string, string]>([
    ['read', 'calledAgain', 'verified'], ['keyed', 'calledAgain', 'asked'], ['keyed-undo', 'calledAgain', 'calledAgain'],
    ['lookup', 'verified', 'verified'], ['opaque', 'asked', 'asked'], ['row', 'calledAgain', 'verified'], ['unknown', 'asked', 'asked'],
  ])('%s: a resume has it %s; cancel and compensate, which send nothing forward, %s', (tool, resumed, stopped) => {
    expect([fate('resume', action(tool)), fate('cancel', action(tool)), fate('compensate', action(tool))]).toEqual([resumed, stopped, stopped])
  })
  test('past its key window it is asked about, or verified', () => expect(fate('resume', action('keyed', { isKeyExpired: true }))).toBe('asked'))
  test('of another version of the tool it is asked about', () => expect(fate('resume', action('keyed', { toolVersion: '0' }))).toBe('asked'))
  test('in doubt already it stays with people', () => expect(fate('resume', action('lookup', { status: 'in_doubt' }))).toBe('asked'))
  test('with a result that came late it needs nobody', () => expect(fate('resume', action('opaque', { isProved: true }))).toBe('verified'))
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
  test('count all of them, not only those that are listed', () => {
    const undoing = previewVerb('compensate', run('failed'), facts({ undoable: { total: 50_000, actions: [action('keyed')] }, residue: { total: 3_000, actions: [action('opaque')] } }), tools)
    expect(undoing).toMatchObject({ undone: [{}], residue: [{}], counts: { calledAgain: 0, verified: 0, asked: 0, undone: 50_000, residue: 3_000 }, isCut: true })
    const unsettled = unsettledOf([action('keyed'), action('keyed'), action('lookup'), action('opaque'), action('opaque')], 1)
    const resuming = previewVerb('resume', run('failed'), facts({ ...unsettled, lastRefused: { total: 20, actions: [action('keyed', { status: 'failed' })] } }), tools)
    expect(resuming).toMatchObject({ verified: [], asked: [], counts: { calledAgain: 22, verified: 1, asked: 2, undone: 0, residue: 0 }, isCut: true })
    expect(resuming.calledAgain).toHaveLength(2)
  })
  test('what a verb does not touch cuts nothing', () => {
    const many = { total: 50_000, actions: [action('keyed')] }
    expect(previewVerb('cancel', run('running'), facts({ undoable: many, residue: many, lastRefused: many }), tools)).toMatchObject({ undone: [], counts: { undone: 0, residue: 0, calledAgain: 0 }, isCut: false })
  })
  test('what the verb would refuse is said', () => {
    expect(previewVerb('resume', run('compensated'), facts(), tools).isAllowed).toBe(false)
    expect(previewVerb('cancel', run('completed'), facts(), tools).isAllowed).toBe(false)
  })
})
