import { runToWire } from '@pawl/client'
import { RUN_STATUSES, type RunStatus } from '@pawl/core'
import { Option, type Command } from 'commander'
import { addLeaf } from '../cli/leaf.ts'
import { addPagingOptions, allOf, pageOf, sayMore, type PagingOptions } from '../cli/paging.ts'
import { collectLabel, moment } from '../cli/parse.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { time } from '../cli/plain.ts'
import { paintStatus, statusOf } from '../cli/status.ts'

interface ListOptions extends PlaceOptions, PagingOptions {
  readonly agent?: string
  readonly status?: readonly RunStatus[]
  readonly label?: Readonly<Record<string, string>>
  readonly search?: string
  readonly createdAfter?: Date
  readonly createdBefore?: Date
  readonly paused?: boolean
}

/** `pawl run list`. JSON: `{ entries: Run[], cursor }`; `-o ids`: every id there is, one a line. */
export function addRunList(parent: Command): void {
  addLeaf<ListOptions>(parent, {
    usage: 'list', about: 'the runs, newest first', hasIds: true,
    options: (command) => addPlaceOptions(addPagingOptions(command
      .option('--agent <name>', 'only of this agent')
      .addOption(new Option('--status <status...>', 'only in one of these statuses').choices(RUN_STATUSES))
      .option('--label <name=value>', 'only with this label; several must all match', collectLabel)
      .option('--search <text>', 'the beginning of an id, a label\'s value, or an idempotency key')
      .option('--created-after <when>', 'from then on: 2026-11-30, 2026-11-30T08:00Z, or 2h for two hours ago', moment)
      .option('--created-before <when>', 'until before then; likewise', moment)
      .option('--paused', 'only paused ones').option('--no-paused', 'only those that are not'))),
    async run({ options, out }) {
      const client = await openClient(options, out)
      try {
        const { agent, status, label: labels, search, createdAfter, createdBefore, paused } = options
        const filter = { agent, status, labels, search, createdAfter, createdBefore, paused }
        if (out.format === 'ids') {
          for await (const run of allOf(options, (page) => client.listRuns({ ...filter, ...page }))) out.id(run.id)
          return
        }
        const page = await client.listRuns({ ...filter, ...pageOf(options) })
        out.emit({ ...page, entries: page.entries.map(runToWire) })
        if (page.entries.length === 0) out.line('No runs here. Start one with: pawl run start <agent> --input \'{}\'')
        else {
          out.table(columns, page.entries.map((run) => [
            run.id, `${run.agent}@${run.agentVersion}`, statusOf(run), `${run.tally.done}/${run.tally.total}`, String(run.tally.failed), String(run.open.blocked),
            time(run.createdAt), Object.entries(run.labels).map((pair) => pair.join('=')).join(' '),
          ]))
        }
        sayMore(out, page.cursor)
      } finally {
        await client.close()
      }
    },
  })
}

const columns = [
  { name: 'run' }, { name: 'agent' }, { name: 'status', paint: paintStatus }, { name: 'done', align: 'right' }, { name: 'failed', align: 'right' },
  { name: 'blocked', align: 'right' }, { name: 'created (UTC)' }, { name: 'labels' },
] as const
