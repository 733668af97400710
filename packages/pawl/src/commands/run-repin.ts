import type { RepinPreview } from '@pawl/client'
import type { Command } from 'commander'
import { actOnMany } from '../cli/bulk.ts'
import { exitOf } from '../cli/exit-codes.ts'
import { UsageError } from '../cli/fail.ts'
import { addLeaf } from '../cli/leaf.ts'
import type { Output } from '../cli/output.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { many, plain } from '../cli/plain.ts'
import { givenRuns } from '../cli/run-ids.ts'

interface RepinCommandOptions extends PlaceOptions {
  readonly to?: string
  readonly dryRun?: boolean
  readonly force?: boolean
  readonly reason?: string
}

/** `pawl run repin <run...> --to <version>`; "-" for the runs on stdin. JSON: of one `RepinAnswer`, with `--dry-run` a `RepinPreview`; of several a `BulkReport`. */
export function addRunRepin(parent: Command): void {
  addLeaf<RepinCommandOptions>(parent, {
    usage: 'repin <run...>', about: 'move it to another agent version (--to), its model, prompt and tools with it',
    options: (command) => void addPlaceOptions(command)
      .option('--to <version>', 'the version it goes on with')
      .option('--dry-run', 'change nothing; say what the new version would not recognise')
      .option('--force', 'also to a version no live worker and no agent of the config has')
      .option('--reason <text>', 'kept with the event'),
    async run({ args, options, out }) {
      const { ids, isMany } = await givenRuns(args, 'repin --to <version>')
      const [runId = ''] = ids
      const { to, dryRun, force, reason } = options
      if (to === undefined) throw new UsageError(`Name the version: pawl run repin ${isMany ? '-' : runId} --to <version>. "pawl doctor" lists what is served.`)
      const client = await openClient(options, out, { agents: true })
      try {
        if (isMany) {
          return await actOnMany(out, 'repin', ids, { dryRun: dryRun ?? false }, async (id) => {
            const one = await client.repin(id, { to, dryRun, force, reason })
            return one.dryRun
              ? { outcome: one.isAllowed ? 'done' : 'refused', status: null, detail: inShort(one) }
              : { outcome: 'done', status: one.status, detail: `version ${one.from.version} → ${one.to.version}, ${many(one.moved, 'item')} moved` }
          })
        }
        const answer = await client.repin(runId, { to, dryRun, force, reason })
        out.emit(answer)
        if (answer.dryRun) return showRepin(out, answer)
        out.line(`Run ${runId} goes on under version ${plain(answer.to.version)} (it was ${plain(answer.from.version)}); ${many(answer.moved, 'item')} moved.`)
        return exitOf.ok
      } finally {
        await client.close()
      }
    },
  })
}

const inShort = ({ isAllowed, from, to, live, unserved, changedTools }: RepinPreview): string => (isAllowed
  ? [`version ${from.version} → ${to.version}`, many(live, 'item'), ...unserved.map((call) => `${many(call.items, 'item')} blocked by ${call.tool}@${call.version}`), ...(changedTools.length === 0 ? [] : [many(changedTools.length, 'changed tool')])].join(', ')
  : `no live worker and no agent known here has version ${to.version}`)

function showRepin(out: Output, preview: RepinPreview): number {
  const { from, to, workers } = preview
  out.line(preview.isAllowed
    ? `Repin of run ${preview.runId} from version ${plain(from.version)} to ${plain(to.version)} would do this; nothing was changed:`
    : `Repin would be refused: no live worker and no agent known here has version ${plain(to.version)}.`)
  if (!preview.isAllowed) return exitOf.failed
  out.line(`  ${workers === 0 ? 'no live worker serves it yet' : `${many(workers, 'live process', 'live processes')} serve it`}`)
  out.line(`  move ${many(preview.live, 'item')}; ${preview.inProgress} of them hand back at their next call`)
  for (const what of ['model', 'prompt'] as const) if (from[what] !== to[what]) out.line(`  ${what}: ${plain(from[what] ?? 'none')} → ${plain(to[what] ?? 'as the first worker has it')}`)
  for (const call of preview.unserved) out.line(`  ${many(call.items, 'item')} called ${plain(call.tool)}@${plain(call.version)}, which the new version has not kept: blocked "version" until a build has it in previousTools`)
  for (const tool of preview.changedTools) {
    out.line(`  ${plain(tool.tool)}: version ${plain(tool.from)} → ${plain(tool.to ?? 'none')}${tool.isKeyChanged ? '; its key changes: what another item did under the old key is not recognised' : ''}`)
  }
  return exitOf.ok
}
