import { itemToWire, type PawlClient, type Preview, type ReleaseOptions, type VerbAnswer } from '@pawl/client'
import type { Command } from 'commander'
import { bulkOnMany, recorded, type RecordedVerb } from '../cli/bulk-record.ts'
import { actOnMany, type Act } from '../cli/bulk.ts'
import { exitOf } from '../cli/exit-codes.ts'
import { UsageError } from '../cli/fail.ts'
import { addLeaf, type Call } from '../cli/leaf.ts'
import { shownBlock, wholeNumber } from '../cli/parse.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { many } from '../cli/plain.ts'
import { previewInShort, showPreview } from '../cli/preview.ts'
import { givenRuns } from '../cli/run-ids.ts'
import { paintStatus } from '../cli/status.ts'

interface VerbOptions extends PlaceOptions {
  readonly dryRun?: boolean
  readonly reason?: string
}

interface ItemVerbOptions extends VerbOptions {
  readonly item?: number
  readonly note?: string
  readonly newCalls?: boolean
  readonly shown?: ReleaseOptions['shown']
}

/**
 * `pawl run pause|resume|cancel|compensate <run...>`, `fail <run>`; "-" for the runs on stdin. JSON: of one run `VerbAnswer`, with `--dry-run` a
 * `Preview`, with `--item` the `Item`; of several a `BulkReport`, exit 1 when one of them was refused.
 */
export function addRunVerbs(parent: Command): void {
  addLeaf<VerbOptions>(parent, {
    usage: 'pause <run...>', about: 'send nothing new of it; running items hand back at their next call',
    options: (command) => addReason(addPlaceOptions(command)),
    run: (call) => act(call, 'pause', (client, runId) => client.pause(runId, { reason: call.options.reason })),
  })
  addLeaf<ItemVerbOptions>(parent, {
    usage: 'resume <run...>', about: 'let it go on: unpause, send failed items round again; never repeats what is committed',
    options: (command) => addItemOptions(addReason(addDryRun(addPlaceOptions(command)))).option('--new-calls', 'with --item: what a diverged item asks for now are new calls'),
    run: (call) => (call.options.item === undefined ? act(call, 'resume', (client, runId, dryRun) => client.resume(runId, { dryRun, reason: call.options.reason })) : release(call, 'resume')),
  })
  addLeaf<VerbOptions>(parent, {
    usage: 'cancel <run...>', about: 'end it; calls in flight are settled after the fact',
    options: (command) => addReason(addDryRun(addPlaceOptions(command))),
    run: (call) => act(call, 'cancel', (client, runId, dryRun) => client.cancel(runId, { dryRun, reason: call.options.reason })),
  })
  addLeaf<VerbOptions>(parent, {
    usage: 'compensate <run...>', about: 'take back what it did, newest first',
    options: (command) => addReason(addDryRun(addPlaceOptions(command))),
    run: (call) => act(call, 'compensate', (client, runId, dryRun) => client.compensate(runId, { dryRun, reason: call.options.reason })),
  })
  addLeaf<ItemVerbOptions>(parent, {
    usage: 'fail <run>', about: 'give up one blocked item (--item): it ends failed, the others go on', options: (command) => addItemOptions(addPlaceOptions(command)),
    run: (call) => release(call, 'fail'),
  })
}

const addDryRun = (command: Command): Command => command.option('--dry-run', 'change nothing; say what would be skipped, sent again, verified, asked and undone')
const addReason = (command: Command): Command => command.option('--reason <text>', 'kept with the event')
const addItemOptions = (command: Command): Command => command
  .option('--item <seq>', 'only this blocked item', wholeNumber(0, 2_147_483_647))
  .option('--note <text>', 'with --item: kept with the event')
  .option('--shown <reason@attempts>', 'with --item: what the inbox showed of it; an item that went on meanwhile is left alone', shownBlock)

const isRecorded = (name: string): name is RecordedVerb => (recorded as readonly string[]).includes(name)

type Verb = (client: PawlClient, runId: string, dryRun: boolean) => Promise<VerbAnswer | Preview>

async function act({ args, options, out }: Call<VerbOptions>, name: string, verb: Verb): Promise<number> {
  const { ids, isMany } = await givenRuns(args, name)
  const dryRun = options.dryRun ?? false
  const client = await openClient(options, out, { agents: dryRun })
  try {
    if (isMany && !dryRun && isRecorded(name)) return await bulkOnMany(client, out, name, ids, options.reason)
    if (isMany) return await actOnMany(out, name, ids, { dryRun }, inShort((runId) => verb(client, runId, dryRun)))
    const [runId = ''] = ids
    const answer = await verb(client, runId, dryRun)
    out.emit(answer)
    if (answer.dryRun) {
      showPreview(out, answer)
      return answer.isAllowed ? exitOf.ok : exitOf.failed
    }
    const also = alsoOf(answer)
    out.line(`Run ${runId} is ${paintStatus(answer.status)}${also === '' ? '' : `; ${also}`}.`)
    return exitOf.ok
  } finally {
    await client.close()
  }
}

const inShort = (verb: (runId: string) => Promise<VerbAnswer | Preview>): Act => async (runId) => {
  const answer = await verb(runId)
  return answer.dryRun
    ? { outcome: answer.isAllowed ? 'done' : 'refused', status: answer.status, detail: previewInShort(answer) }
    : { outcome: 'done', status: answer.status, detail: alsoOf(answer) }
}

const alsoOf = (answer: VerbAnswer): string => [
  ...(answer.reopened === undefined || answer.reopened === 0 ? [] : [`${many(answer.reopened, 'item')} went round again`]),
  ...(answer.unsettled === undefined || answer.unsettled === 0 ? [] : [`${many(answer.unsettled, 'call')} in flight ${answer.unsettled === 1 ? 'is' : 'are'} settled after the fact`]),
].join(', ')

async function release({ args, options, out }: Call<ItemVerbOptions>, verb: 'resume' | 'fail'): Promise<number> {
  const [runId = '', ...others] = args
  if (options.item === undefined) throw new UsageError(`Name the item: pawl run ${verb} ${runId} --item <seq>. "pawl inbox --run ${runId}" lists the blocked ones.`)
  if (others.length > 0 || runId === '-') throw new UsageError('--item names an item of one run; leave the other runs away.')
  if (options.dryRun) throw new UsageError('--dry-run speaks about a whole run; leave --item away.')
  const client = await openClient(options, out)
  try {
    const item = await client.releaseItem(runId, options.item, verb, { note: options.note, newCalls: options.newCalls, shown: options.shown })
    out.emit(itemToWire(item))
    out.line(`Item ${item.seq} of run ${runId} is ${paintStatus(item.status)}.`)
    return exitOf.ok
  } finally {
    await client.close()
  }
}
