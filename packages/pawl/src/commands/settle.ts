import { actionToWire, inboxToWire, type DoubtSettlement, type InboxItem, type PawlClient } from '@pawl/client'
import { PawlError } from '@pawl/core'
import type { Command } from 'commander'
import { showDoubt } from '../cli/answers.ts'
import { ask } from '../cli/ask.ts'
import { exitOf } from '../cli/exit-codes.ts'
import { UsageError } from '../cli/fail.ts'
import { addLeaf } from '../cli/leaf.ts'
import type { Output } from '../cli/output.ts'
import { numberArgument, readJson, wholeNumber } from '../cli/parse.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { paintStatus } from '../cli/status.ts'

interface SettleOptions extends PlaceOptions {
  readonly happened?: boolean
  readonly didNot?: boolean
  readonly abandon?: boolean
  readonly result?: string
  readonly note?: string
  readonly attempt?: number
  readonly evidence?: number
  readonly yes?: boolean
}

type Doubt = Extract<InboxItem, { kind: 'in_doubt' }>

/**
 * `pawl settle <run> <action>`: a person's word about a call in doubt. `--attempt` and `--evidence` say what was looked at, as the inbox printed
 * them; without them what is shown now counts, after a yes on a terminal. JSON: `{ doubt, action }`.
 */
export function addSettle(parent: Command): void {
  addLeaf<SettleOptions>(parent, {
    usage: 'settle <run> <action>', about: 'say what became of a call in doubt',
    options: (command) => addPlaceOptions(command
      .option('--happened', 'it took effect; give what it returned with --result')
      .option('--did-not', 'it had no effect; it is sent again')
      .option('--abandon', 'nobody will find out; the item fails and the call is listed as residue')
      .option('--result <json>', 'with --happened: what the call returned, since the agent goes on with it; JSON or @file.json')
      .option('--note <text>', 'kept with the event')
      .option('--attempt <n>', 'the attempt you looked at', wholeNumber(1, 1_000_000))
      .option('--evidence <n>', 'how many entries of evidence you looked at', wholeNumber(0, 1_000_000))
      .option('--yes', 'do not ask back on a terminal')),
    async run({ args, options, out }) {
      const [runId = '', given = ''] = args
      const actionId = numberArgument(given, 'The action')
      const answer = answerOf(options)
      const result = options.result === undefined ? undefined : readJson(options.result, '--result')
      if (result !== undefined && answer !== undefined && answer !== 'happened') throw new UsageError('--result goes with --happened only.')
      if ((options.attempt === undefined) !== (options.evidence === undefined)) throw new UsageError('--attempt and --evidence go together: they say what you looked at.')
      const client = await openClient(options, out, { agents: true })
      try {
        const doubt = await findDoubt(client, runId, actionId)
        show(out, doubt)
        if (answer === undefined) throw new UsageError('Say what became of it: --happened, --did-not or --abandon.')
        const { attempt = doubt.action.attempt, evidence = doubt.action.evidence.length } = options
        if (options.attempt === undefined && !options.yes && !(await ask(out, `Answer "${words[answer]}"?`))) {
          out.line('Nothing was answered.')
          return exitOf.failed
        }
        const action = await client.settle(runId, actionId, { answer, result, attempt, evidence, note: options.note })
        out.emit({ doubt: inboxToWire(doubt), action: actionToWire(action) })
        out.line(`Action ${action.id} is ${paintStatus(action.status)} now; item ${action.itemSeq} of run ${runId} goes on from there.`)
        return exitOf.ok
      } finally {
        await client.close()
      }
    },
  })
}

function answerOf(options: SettleOptions): DoubtSettlement['answer'] | undefined {
  const answers = [...(options.happened ? ['happened' as const] : []), ...(options.didNot ? ['did_not' as const] : []), ...(options.abandon ? ['abandon' as const] : [])]
  if (answers.length > 1) throw new UsageError('Give one of --happened, --did-not and --abandon.')
  return answers[0]
}

async function findDoubt(client: PawlClient, runId: string, actionId: number): Promise<Doubt> {
  let cursor: string | undefined
  do {
    const page = await client.inbox({ runId, limit: 1_000, cursor })
    for (const entry of page.entries) if (entry.kind === 'in_doubt' && entry.action.id === actionId) return entry
    cursor = page.cursor ?? undefined
  } while (cursor !== undefined)
  throw new PawlError('NOT_IN_DOUBT', `Run ${runId} has no action ${actionId} in doubt; it may be answered already. "pawl inbox --run ${runId}" lists what is open, "pawl run actions ${runId}" all calls.`, 'tell', { runId, action: actionId })
}

function show(out: Output, doubt: Doubt): void {
  out.line(`In doubt, of item ${doubt.itemSeq} of run ${doubt.runId}:`)
  showDoubt(out, doubt)
  out.line()
}

const words = { happened: 'it happened', did_not: 'it did not happen, send it again', abandon: 'nobody will find out, give it up' } as const
