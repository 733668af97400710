import { inboxToWire, type ApprovalDecision, type InboxItem, type PawlClient } from '@pawl/client'
import { PawlError } from '@pawl/core'
import type { Command } from 'commander'
import { showEntry } from '../cli/answers.ts'
import { ask } from '../cli/ask.ts'
import { exitOf } from '../cli/exit-codes.ts'
import { UsageError } from '../cli/fail.ts'
import { addLeaf } from '../cli/leaf.ts'
import type { Output } from '../cli/output.ts'
import { numberArgument } from '../cli/parse.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { plain, time } from '../cli/plain.ts'

interface ApproveOptions extends PlaceOptions {
  readonly digest?: string
  readonly all?: boolean
  readonly tool?: string
  readonly note?: string
  readonly yes?: boolean
}

type Waiting = Extract<InboxItem, { kind: 'approval' }>

/**
 * `pawl approve|reject <run> [action]`: a person's word about calls that wait for it. `--digest` says which call was looked at, as the inbox printed it;
 * without it what is shown now counts, after a yes on a terminal. `--all` lists what it decides first, and decides nothing that came since.
 * JSON: `{ shown, decisions }`. Exit 1 when any of them did not come about.
 */
export function addApprove(parent: Command): void {
  for (const verb of ['approve', 'reject'] as const) {
    addLeaf<ApproveOptions>(parent, {
      usage: `${verb} <run> [action]`, about: verb === 'approve' ? 'say yes to a call that waits for it' : 'say no to a call that waits; the agent is told',
      options: (command) => addPlaceOptions(command
        .option('--digest <digest>', 'the call you looked at, as the inbox shows it')
        .option('--all', 'every call that waits now; they are listed first')
        .option('--tool <name>', 'with --all: only calls of this tool')
        .option('--note <text>', 'kept with the decision; with reject, the agent reads it')
        .option('--yes', 'do not ask back on a terminal')),
      async run({ args, options, out }) {
        const [runId = '', given] = args
        if ((given === undefined) === (options.all !== true)) throw new UsageError(`Name one action, or give --all: pawl ${verb} ${runId} <action>`)
        if (options.tool !== undefined && !options.all) throw new UsageError('--tool goes with --all only.')
        if (options.digest !== undefined && options.all) throw new UsageError('--digest goes with one action only.')
        const actionId = given === undefined ? undefined : numberArgument(given, 'The action')
        const client = await openClient(options, out)
        try {
          return await decideAll(client, out, { verb, runId, actionId, options })
        } finally {
          await client.close()
        }
      },
    })
  }
}

async function decideAll(client: PawlClient, out: Output, { verb, runId, actionId, options }: { verb: 'approve' | 'reject'; runId: string; actionId: number | undefined; options: ApproveOptions }): Promise<number> {
  if (actionId !== undefined && options.digest !== undefined) {
    const decision = await client[verb](runId, { actionId, digest: options.digest }, { note: options.note })
    return told(out, runId, [], [decision])
  }
  const shown = (await listWaiting(client, runId)).filter(({ approval }) => (actionId === undefined || approval.actionId === actionId) && (options.tool === undefined || approval.tool === options.tool))
  if (shown.length === 0) {
    throw new PawlError('NOTHING_WAITS', `Run ${runId} has ${actionId === undefined ? `no call${options.tool === undefined ? '' : ` of ${options.tool}`}` : `no action ${actionId}`} that waits for approval. "pawl inbox --run ${runId}" shows what waits.`)
  }
  for (const entry of shown) showEntry(out, entry)
  out.line()
  if (!options.yes && !(await ask(out, `${verb} ${shown.length === 1 ? 'this call' : `these ${shown.length} calls`}?`))) return exitOf.failed
  const calls = shown.map(({ approval }) => ({ actionId: approval.actionId, digest: approval.digest }))
  return told(out, runId, shown, await client[verb](runId, calls, { note: options.note }))
}

function told(out: Output, runId: string, shown: readonly Waiting[], decisions: readonly ApprovalDecision[]): number {
  out.emit({ shown: shown.map(inboxToWire), decisions })
  for (const one of decisions) {
    const who = one.decidedBy === null ? '' : ` by ${plain(one.decidedBy)} at ${time(one.decidedAt)} UTC`
    out.line(`Action ${one.actionId} of run ${runId}: ${one.outcome === 'decided' ? `${one.status ?? ''} already` : one.outcome}${who}`)
  }
  return decisions.every((one) => one.outcome === 'approved' || one.outcome === 'rejected') ? exitOf.ok : exitOf.failed
}

async function listWaiting(client: PawlClient, runId: string): Promise<Waiting[]> {
  const found: Waiting[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: Awaited<ReturnType<PawlClient['inbox']>> = await client.inbox({ runId, limit: 1_000, cursor })
    for (const entry of page.entries) if (entry.kind === 'approval') found.push(entry)
    cursor = page.cursor
  }
  return found
}
