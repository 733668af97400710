/**
 * The first message says what changes seldom (task, item, what was done before the turns shown), the last one what changes often (how the run stands),
 * so that a provider's cache of the beginning holds from one turn to the next.
 */
import type { Detail } from './detail.ts'
import type { BriefAction, BriefFacts, BriefQuestion } from './facts.ts'
import { cut, show, wellFormed } from './show.ts'
import { digestAction, digestQuestion, isUnknown, oneLine } from './tell.ts'

/** How to read a brief. Constant: part of every system prompt. */
const howToRead = [
  'You may be continuing work that was interrupted. What follows is rebuilt from a durable ledger of what really happened, not from a transcript.',
  'Every result begins with a line in brackets, written by the harness; whatever stands below that line came from the tool.',
  'What is done is done: never repeat it. Where the outcome is unknown, it may have happened: do not call it again; the harness finds out.',
].join('\n')

export const systemOf = (facts: BriefFacts): string => wellFormed(facts.system === null || facts.system.trim() === '' ? howToRead : `${facts.system.trimEnd()}\n\n${howToRead}`)

export interface Told {
  /** Not shown in a verbatim turn. */
  readonly actions: readonly BriefAction[]
  readonly questions: readonly BriefQuestion[]
  readonly turnsDigested: number
}

export const linesOf = (told: Pick<Told, 'actions' | 'questions'>, detail: Detail): string[] =>
  [...told.actions.map((action) => digestAction(action, detail)), ...told.questions.map((question) => digestQuestion(question, detail))]

export function headOf(facts: BriefFacts, told: Told, detail: Detail): string {
  const { run, item } = facts
  const pins = [`agent ${run.agent} ${run.agentVersion}`, run.modelVersion === null ? '' : `model ${run.modelVersion}`, run.promptVersion === null ? '' : `prompt ${run.promptVersion}`, `schema ${run.schemaVersion}`]
  const sections = [
    `# Task\n${cut(show(run.input), detail.task)}`,
    `# Item ${item.seq} of the run${item.kind === 'work' ? '' : ` (${item.kind})`}: ${oneLine(item.key)}\n${cut(show(item.payload), detail.task)}`,
    `Run ${run.id}; ${pins.filter((pin) => pin !== '').join(', ')}.`,
  ]
  const lines = linesOf(told, detail)
  if (lines.length > 0 || told.turnsDigested > 0) {
    const of = told.turnsDigested === 0 ? '' : `, turns 1 to ${told.turnsDigested} in short`
    sections.push(`# So far in this item${of}, oldest first\n${lines.length === 0 ? 'No calls.' : lines.join('\n')}`)
  }
  return wellFormed(sections.join('\n\n'))
}

export function stateOf(facts: BriefFacts, detail: Detail): string {
  const { tally, actions, questions } = facts
  const lines: string[] = []
  if (tally !== null) {
    const others = [[tally.blocked, 'blocked'], [tally.cancelled, 'cancelled']] as const
    const failed = tally.failed === 0 ? '' : `; ${tally.failed} failed${tally.failures.length === 0 ? '' : `: ${cut(tally.failures.map(({ reason, count }) => `${oneLine(reason)} ×${count}`).join(', '), detail.words)}`}`
    lines.push(`The run: ${tally.done} of ${tally.total} items done${failed}${others.map(([n, word]) => (n === 0 ? '' : `; ${n} ${word}`)).join('')}.`)
  }
  const count = (of: (action: BriefAction) => boolean): number => actions.filter(of).length
  const counts = [
    [count((a) => a.status === 'committed'), 'done'], [count((a) => isUnknown(a.status)), 'with unknown outcome'], [count((a) => a.status === 'failed' || a.status === 'rejected'), 'failed or refused'],
    [count((a) => a.status === 'awaiting_approval'), 'waiting for approval'], [count((a) => a.status === 'staged'), 'held for the end of the run'],
  ] as const
  const told = counts.filter(([n]) => n > 0).map(([n, word]) => `${n} ${word}`)
  lines.push(`This item: ${told.length === 0 ? 'no calls yet' : `calls: ${told.join(', ')}`}.`)
  const waiting = questions.filter((question) => question.status === 'open').length
  if (waiting > 0) lines.push(`${waiting} question${waiting === 1 ? '' : 's'} to a person not answered yet.`)
  lines.push('Continue with what remains.')
  return wellFormed(`# Where it stands\n${lines.join('\n')}`)
}
