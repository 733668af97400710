import type { RepinPreview } from '@pawl/client'
import type { Command } from 'commander'
import { exitOf } from '../cli/exit-codes.ts'
import { UsageError } from '../cli/fail.ts'
import { addLeaf } from '../cli/leaf.ts'
import type { Output } from '../cli/output.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { many, plain } from '../cli/plain.ts'

interface RepinCommandOptions extends PlaceOptions {
  readonly to?: string
  readonly dryRun?: boolean
  readonly force?: boolean
  readonly reason?: string
}

/** `pawl run repin <run> --to <version>`. JSON: `RepinAnswer`, with `--dry-run` a `RepinPreview`. */
export function addRunRepin(parent: Command): void {
  addLeaf<RepinCommandOptions>(parent, {
    usage: 'repin <run>', about: 'move it to another agent version (--to), its model, prompt and tools with it',
    options: (command) => void addPlaceOptions(command)
      .option('--to <version>', 'the version it goes on with')
      .option('--dry-run', 'change nothing; say what the new version would not recognise')
      .option('--force', 'also to a version no live worker and no agent of the config has')
      .option('--reason <text>', 'kept with the event'),
    async run({ args, options, out }) {
      const [runId = ''] = args
      const { to, dryRun, force, reason } = options
      if (to === undefined) throw new UsageError(`Name the version: pawl run repin ${runId} --to <version>. "pawl doctor" lists what is served.`)
      const client = await openClient(options, out, { agents: true })
      try {
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
