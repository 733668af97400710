import type { Preview, RepinPreview } from '@pawl/client/http'
import { expect, test, vi } from 'vitest'
import { actAsShown, isSameMove, isSameState, previewIn } from './as-shown.ts'

const preview: Preview = {
  dryRun: true, verb: 'resume', runId: 'r', status: 'failed', isAllowed: true, items: { again: 1, stopped: 0, kept: 2 }, skipped: 3, calledAgain: [], verified: [], asked: [], undone: [], residue: [],
  counts: { calledAgain: 0, verified: 0, asked: 0, undone: 0, residue: 0 }, isCut: false,
}
const move: RepinPreview = {
  dryRun: true, runId: 'r', status: 'running', isAllowed: true, workers: 2, isConfigured: false, live: 5, inProgress: 1, from: { version: '4', model: 'm1', prompt: 'p1' }, to: { version: '5', model: 'm2', prompt: 'p1' },
  unserved: [{ tool: 'refund', version: '1', items: 2 }], changedTools: [],
}

test('a yes is done when a last look finds what was shown', async () => {
  const act = vi.fn(async (now: Preview) => `again ${now.items.again}`)
  const moved = { ...preview, items: { again: 4, stopped: 0, kept: 0 } }
  expect(await actAsShown(preview, async () => moved, isSameState, act)).toBe('again 4')
})

test('nothing is done when it finds something else, or nothing at all', async () => {
  const act = vi.fn(async () => 'done')
  expect(await actAsShown(preview, async () => ({ ...preview, status: 'running' as const }), isSameState, act)).toBeUndefined()
  await expect(actAsShown(preview, () => Promise.reject(new Error('away')), isSameState, act)).rejects.toThrow('away')
  expect(act).not.toHaveBeenCalled()
})

test.each<[string, Partial<RepinPreview>]>([
  ['the run is in another state', { status: 'finalizing' }], ['it would be refused', { isAllowed: false }], ['somebody moved it meanwhile', { from: { ...move.from, version: '4b' } }],
  ['the version is another build by now', { to: { ...move.to, model: 'm3' } }], ['another tool is missing', { unserved: [...move.unserved, { tool: 'mail', version: '2', items: 1 }] }],
  ['a tool has changed', { changedTools: [{ tool: 'refund', from: '1', to: '2', isKeyChanged: true }] }],
])('another move: %s', (_, change) => {
  expect(isSameMove(move, { ...move, ...change })).toBe(false)
})

test('the same move: counts go on by themselves', () => {
  expect(isSameMove(move, { ...move, workers: 3, live: 4, inProgress: 2, unserved: [{ tool: 'refund', version: '1', items: 1 }] })).toBe(true)
})

test('a producer that acted when it was asked is no preview', () => {
  expect(() => previewIn({ dryRun: false })).toThrow(expect.objectContaining({ code: 'PRODUCER_ACTED' }))
  expect(previewIn(preview)).toBe(preview)
})
