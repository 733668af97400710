import { runToWire, type Run } from '@pawl/client'
import type { Command } from 'commander'
import colors from 'picocolors'
import { repinCommand } from '../cli/answers.ts'
import { addLeaf } from '../cli/leaf.ts'
import type { Output } from '../cli/output.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { plain, short, time } from '../cli/plain.ts'
import { describeProgress, paintStatus, statusOf } from '../cli/status.ts'

/** `pawl run show <run>`. JSON: the `Run`. */
export function addRunShow(parent: Command): void {
  addLeaf<PlaceOptions>(parent, {
    usage: 'show <run>', about: 'one run: its state, counts, input and result', options: addPlaceOptions,
    async run({ args, options, out }) {
      const [runId = ''] = args
      const client = await openClient(options, out)
      try {
        const run = await client.getRun(runId)
        out.emit(runToWire(run))
        show(out, run)
      } finally {
        await client.close()
      }
    },
  })
}

function show(out: Output, run: Run): void {
  const { tally, open, blockedReasons } = run
  const labels = Object.entries(run.labels).map(([name, value]) => plain(`${name}=${value}`)).join(' ')
  out.line(`${colors.bold(run.id)}  ${plain(run.agent)}@${plain(run.agentVersion)}  ${paintStatus(statusOf(run))}`)
  out.line(`  items     ${describeProgress({ ...tally, blocked: open.blocked, blockedReasons })}${tally.pending > 0 ? `, ${tally.pending} pending` : ''}${tally.cancelled > 0 ? `, ${tally.cancelled} cancelled` : ''}${tally.compensated > 0 ? `, ${tally.compensated} compensated` : ''}`)
  out.line(`  created   ${time(run.createdAt)} UTC by ${plain(run.createdBy)}${run.finishedAt === null ? '' : `, ended ${time(run.finishedAt)}`}${run.ending > 1 ? `, round ${run.ending}` : ''}`)
  if (labels !== '') out.line(`  labels    ${labels}`)
  out.line(`  input     ${short(run.input, 1_000)}`)
  if (run.result !== null && run.result !== undefined) out.line(`  result    ${short(run.result, 1_000)}`)
  if (run.error !== null) out.line(`  error     ${colors.red(plain(run.error.message))}`)
  for (const [i, next] of nextFor(run).entries()) out.line(`  ${(i === 0 ? 'next' : '').padEnd(10)}${colors.cyan(next)}`)
}

function nextFor(run: Run): string[] {
  if (run.paused) return [`pawl run resume ${run.id}`]
  // What waits for a version goes on with a worker that has it, or under another one.
  if (run.open.blocked > 0) return [`pawl inbox --run ${run.id}`, ...((run.blockedReasons.version ?? 0) > 0 ? [repinCommand(run.id)] : [])]
  if (['failed', 'completed_with_failures', 'cancelled'].includes(run.status)) return [`pawl run resume ${run.id} --dry-run`]
  if (['splitting', 'running', 'finalizing', 'compensating'].includes(run.status)) return [`pawl run watch ${run.id}`]
  return []
}
