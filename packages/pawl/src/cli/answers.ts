/** The exact commands that answer what waits for a person. Each carries what was shown, so that an answer never lands on a newer doubt. */
import { leftOutOf, type InboxItem } from '@pawl/client'
import { omittedBytes } from '@pawl/core'
import { many, plain, short, time } from './plain.ts'
import type { Output } from './output.ts'
import colors from 'picocolors'

type Doubt = Extract<InboxItem, { kind: 'in_doubt' }>
type OpenApproval = Extract<InboxItem, { kind: 'approval' }>
type OpenQuestion = Extract<InboxItem, { kind: 'question' }>

/** How a run is moved to a version that is there, looked at first. */
export const repinCommand = (runId: string, to = '<version>'): string => `pawl run repin ${runId} --to ${to} --dry-run`

export function answersTo(entry: InboxItem): string[] {
  if (entry.kind === 'blocked' && entry.reason === 'version') return [repinCommand(entry.runId)]
  if (entry.kind === 'blocked') {
    return entry.verbs.map((verb) => `pawl run ${verb} ${entry.runId} --item ${entry.itemSeq} --shown ${entry.reason}@${entry.attempts}${verb === 'resume' && entry.reason === 'diverged' ? ' --new-calls' : ''}`)
  }
  if (entry.kind === 'question') return [`pawl answer ${entry.runId} ${entry.question.id} '<JSON>'`]
  if (entry.kind === 'approval') return ['approve', 'reject'].map((verb) => `pawl ${verb} ${entry.runId} ${entry.approval.actionId} --digest ${entry.approval.digest}`)
  const { action } = entry
  const seen = `--attempt ${action.attempt} --evidence ${action.evidence.length}`
  const flags = { happened: action.appliedEvidence === null ? "--happened --result '<JSON>'" : '--happened', did_not: '--did-not', abandon: '--abandon' }
  return entry.answers.map((answer) => `pawl settle ${entry.runId} ${action.id} ${flags[answer]} ${seen}`)
}

export function showEntry(out: Output, entry: InboxItem): void {
  const reason = entry.kind === 'in_doubt' ? 'in doubt' : entry.kind === 'approval' ? 'approval' : entry.kind === 'question' ? 'question' : `blocked: ${entry.reason}`
  const kind = entry.kind === 'blocked' && entry.itemKind !== 'work' ? `${entry.itemKind} ` : ''
  out.line(`${colors.yellow(reason)}  ${colors.bold(plain(entry.agent))}  run ${entry.runId}  ${kind}item ${entry.itemSeq} ${plain(entry.itemKey)}`)
  if (entry.kind === 'in_doubt') showDoubt(out, entry)
  else if (entry.kind === 'approval') showApproval(out, entry)
  else if (entry.kind === 'question') showQuestion(out, entry)
  else if (entry.detail !== null && entry.detail !== undefined) out.line(`  why       ${short(entry.detail, 300)}`)
  for (const command of answersTo(entry)) out.line(`  ${colors.cyan(command)}`)
  if (entry.kind === 'blocked' && (entry.verbs.length === 0 || entry.reason === 'version')) out.line('  it goes on by itself when what it waits for is there')
}

/** Everything a person needs to look the call up at the receiver. */
export function showDoubt(out: Output, { action, answers, answerableAt }: Doubt): void {
  out.line(`  call      ${plain(action.tool)}@${plain(action.toolVersion)} (${action.effect}), action ${action.id}, attempt ${action.attempt}, sent ${time(action.startedAt)} UTC`)
  out.line(`  key       ${plain(action.key)}`)
  out.line(`  args      ${short(action.args, 2_000)}`)
  const there = action.evidence.filter((entry) => omittedBytes(entry) === undefined)
  const away = action.evidence.length - there.length
  const evidence = action.evidence.length === 0 ? ['none'] : [...there.map((entry) => short(entry, 2_000)), ...(away === 0 ? [] : [`(${many(away, 'entry', 'entries')}, left out here)`])]
  for (const [i, entry] of evidence.entries()) out.line(`  ${(i === 0 ? 'evidence' : '').padEnd(10)}${entry}`)
  if (action.appliedEvidence !== null) out.line(`  its result came late and proves that it happened: ${short(action.appliedEvidence, 500)}`)
  else if (!answers.includes('did_not') && answerableAt !== null) out.line(`  "it did not" is taken from ${time(answerableAt)} UTC on: until then a late send could still follow`)
  if (leftOutOf(action) !== undefined) out.line(`  what is left out: ${colors.cyan(`pawl run action ${action.runId} ${action.id}`)}`)
}

/** The call as it will be sent, to the letter. */
export function showApproval(out: Output, { approval, attempts }: OpenApproval): void {
  const what = [approval.effect, ...(approval.irreversible ? ['cannot be undone'] : []), ...(approval.isStaged ? ['held back to the end of the run'] : [])].join(', ')
  out.line(`  call      ${plain(approval.tool)}@${plain(approval.toolVersion)} (${what}), action ${approval.actionId}, not sent yet; attempts of the item ${attempts}`)
  out.line(`  key       ${plain(approval.key)}`)
  out.line(`  args      ${plain(approval.argsText)}`)
  out.line(`  asked     ${time(approval.requestedAt)} UTC, until ${time(approval.expiresAt)} UTC`)
}

export function showQuestion(out: Output, { question }: OpenQuestion): void {
  const [first = '', ...rest] = question.question.split('\n')
  out.line(`  asks      ${plain(first)}`)
  for (const line of rest) out.line(`            ${plain(line)}`)
  out.line(`  answer    ${short(withoutDialect(question.answerSchema), 2_000)}`)
  out.line(`  asked     ${time(question.askedAt)} UTC, question ${question.id}`)
}

/** Which JSON Schema it is tells a person nothing. */
function withoutDialect({ $schema: _dialect, ...schema }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return schema
}
