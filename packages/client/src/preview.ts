/**
 * What a verb would do, from the ledger and the registered tools alone. The judgement follows the order the harness settles in: evidence,
 * then the key, then `verify`, then a person; settling for cancel and compensate never sends a forward effect. Pure but for the reads handed in.
 */
import type { RunStatus } from '@pawl/core'
import type { PreviewedAction, PreviewFacts, RunView, Sample, UnsettledKind } from '@pawl/ledger'
import type { AnyTool } from '@pawl/tools'
import type { Preview } from './wire.ts'

export type PreviewVerb = Preview['verb']
type Listed = Preview['asked'][number]
type Fate = { readonly list: 'calledAgain' | 'verified' | 'asked'; readonly why: string }

const live: readonly RunStatus[] = ['splitting', 'running', 'finalizing', 'compensating']
const allowed: Readonly<Record<PreviewVerb, readonly RunStatus[]>> = {
  resume: [...live, 'failed', 'completed_with_failures', 'cancelled'],
  cancel: ['splitting', 'running', 'finalizing'],
  compensate: ['running', 'finalizing', 'completed', 'completed_with_failures', 'failed', 'cancelled', 'compensated_with_residue'],
}

export function previewVerb(verb: PreviewVerb, run: RunView, facts: PreviewFacts, tools: ReadonlyMap<string, AnyTool>): Preview {
  const isForwardAllowed = verb === 'resume' && run.status !== 'compensating'
  const fateIn = (action: UnsettledKind): Fate => fateOf(action, tools.get(action.tool), isForwardAllowed)
  const fates = { calledAgain: [] as Listed[], verified: [] as Listed[], asked: [] as Listed[] }
  for (const action of facts.unsettled.actions) {
    const { list, why } = fateIn(action)
    fates[list].push(listed(action, why))
  }
  const countOf = (list: Fate['list']): number => facts.unsettledByKind.reduce((sum, each) => sum + (fateIn(each).list === list ? each.n : 0), 0)
  const goesRound = verb === 'resume' && !live.includes(run.status)
  const undoes = verb === 'compensate' || (verb === 'resume' && run.status === 'compensating')
  const { undoable, residue } = undoes ? facts : { undoable: none, residue: none }
  const lastRefused = goesRound ? facts.lastRefused : none
  fates.calledAgain.push(...lastRefused.actions.map((action) => listed(action, 'every send of it was proved not applied')))
  const { tally, open } = run
  return {
    dryRun: true, verb, runId: run.id, status: run.status, isAllowed: allowed[verb].includes(run.status), ...fates,
    items: {
      again: goesRound ? tally.failed + tally.cancelled + facts.stoppedSplits : 0,
      stopped: verb === 'resume' ? 0 : open.pending + open.inProgress + open.blocked,
      kept: tally.done + tally.compensated + (goesRound ? 0 : tally.failed + tally.cancelled),
    },
    skipped: verb === 'resume' ? facts.committedInOpenItems : 0,
    undone: undoable.actions.map((action) => listed(action, 'its inverse is known')),
    residue: residue.actions.map((action) => listed(action, action.status === 'abandoned' ? 'nobody knows whether it happened' : 'it has no inverse')),
    counts: { calledAgain: countOf('calledAgain') + lastRefused.total, verified: countOf('verified'), asked: countOf('asked'), undone: undoable.total, residue: residue.total },
    isCut: [facts.unsettled, undoable, residue, lastRefused].some((sample) => sample.total > sample.actions.length),
  }
}

const none: Sample = { total: 0, actions: [] }

const listed = (action: PreviewedAction, why: string): Listed => ({ action: action.id, itemSeq: action.itemSeq, tool: action.tool, key: action.key, status: action.status, why })

function fateOf(action: UnsettledKind, tool: AnyTool | undefined, isForwardAllowed: boolean): Fate {
  if (action.isProved) return { list: 'verified', why: 'its result came late and is known' }
  if (action.status === 'in_doubt') return { list: 'asked', why: 'it is in doubt: see the inbox' }
  if (action.effect === 'read' || action.effect === 'transactional') {
    return isForwardAllowed ? { list: 'calledAgain', why: action.effect === 'read' ? 'a read may run again' : 'it commits with its row, and the row says no' } : { list: 'verified', why: 'its row tells' }
  }
  if (tool === undefined) return { list: 'asked', why: 'its tool is not registered here; a worker that has it may find out by itself' }
  if (tool.version !== action.toolVersion || tool.effect !== action.effect) return { list: 'asked', why: `version ${action.toolVersion} of the tool sent it; here is ${tool.version}` }
  const mayCallAgain = action.effect === 'idempotent' && !action.isKeyExpired
  if (isForwardAllowed || action.isUndo) {
    if (mayCallAgain) return { list: 'calledAgain', why: 'the receiver knows its key' }
    return tool.verify ? { list: 'verified', why: 'the receiver can be asked' } : { list: 'asked', why: 'the tool cannot tell whether it happened' }
  }
  if (tool.verify) return { list: 'verified', why: 'the receiver can be asked' }
  if (mayCallAgain && tool.undo) return { list: 'calledAgain', why: 'to learn its result under the same key, so that it can be undone' }
  return { list: 'asked', why: 'finding out would send a forward effect' }
}
