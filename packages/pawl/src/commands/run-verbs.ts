import { itemToWire, type PawlClient, type Preview, type VerbAnswer } from '@pawl/client'
import type { Command } from 'commander'
import { exitOf } from '../cli/exit-codes.ts'
import { UsageError } from '../cli/fail.ts'
import { addLeaf, type Call } from '../cli/leaf.ts'
import { wholeNumber } from '../cli/parse.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { many } from '../cli/plain.ts'
import { showPreview } from '../cli/preview.ts'
import { paintStatus } from '../cli/status.ts'

interface VerbOptions extends PlaceOptions {
  readonly dryRun?: boolean
  readonly reason?: string
}

interface ItemVerbOptions extends VerbOptions {
  readonly item?: number
  readonly note?: string
  readonly newCalls?: boolean
}

/** `pawl run pause|resume|cancel|compensate|fail <run>`. JSON: `VerbAnswer`, with `--dry-run` a `Preview`, with `--item` the `Item`. */
export function addRunVerbs(parent: Command): void {
  addLeaf<PlaceOptions>(parent, {
    usage: 'pause <run>', about: 'send nothing new of it; running items hand back at their next call', options: addPlaceOptions,
    run: (call) => act(call, (client, runId) => client.pause(runId)),
  })
  addLeaf<ItemVerbOptions>(parent, {
    usage: 'resume <run>', about: 'let it go on: unpause, send failed items round again; never repeats what is committed',
    options: (command) => addItemOptions(addDryRun(addPlaceOptions(command))).option('--new-calls', 'with --item: what a diverged item asks for now are new calls'),
    run: (call) => (call.options.item === undefined ? act(call, (client, runId, dryRun) => client.resume(runId, { dryRun })) : release(call, 'resume')),
  })
  addLeaf<VerbOptions>(parent, {
    usage: 'cancel <run>', about: 'end it; calls in flight are settled after the fact',
    options: (command) => addDryRun(addPlaceOptions(command)).option('--reason <text>', 'kept with the event'),
    run: (call) => act(call, (client, runId, dryRun) => client.cancel(runId, { dryRun, reason: call.options.reason })),
  })
  addLeaf<VerbOptions>(parent, {
    usage: 'compensate <run>', about: 'take back what it did, newest first',
    options: (command) => addDryRun(addPlaceOptions(command)).option('--reason <text>', 'kept with the event'),
    run: (call) => act(call, (client, runId, dryRun) => client.compensate(runId, { dryRun, reason: call.options.reason })),
  })
  addLeaf<ItemVerbOptions>(parent, {
    usage: 'fail <run>', about: 'give up one blocked item (--item): it ends failed, the others go on', options: (command) => addItemOptions(addPlaceOptions(command)),
    run: (call) => release(call, 'fail'),
  })
}

const addDryRun = (command: Command): Command => command.option('--dry-run', 'change nothing; say what would be skipped, sent again, verified, asked and undone')
const addItemOptions = (command: Command): Command => command
  .option('--item <seq>', 'only this blocked item', wholeNumber(0, 2_147_483_647))
  .option('--note <text>', 'with --item: kept with the event')

async function act({ args, options, out }: Call<VerbOptions>, verb: (client: PawlClient, runId: string, dryRun: boolean) => Promise<VerbAnswer | Preview>): Promise<number> {
  const [runId = ''] = args
  const client = await openClient(options, out, { agents: options.dryRun ?? false })
  try {
    const answer = await verb(client, runId, options.dryRun ?? false)
    out.emit(answer)
    if (answer.dryRun) {
      showPreview(out, answer)
      return answer.isAllowed ? exitOf.ok : exitOf.failed
    }
    const also = [
      ...(answer.reopened === undefined || answer.reopened === 0 ? [] : [`${many(answer.reopened, 'item')} went round again`]),
      ...(answer.unsettled === undefined || answer.unsettled === 0 ? [] : [`${many(answer.unsettled, 'call')} in flight ${answer.unsettled === 1 ? 'is' : 'are'} settled after the fact`]),
    ]
    out.line(`Run ${runId} is ${paintStatus(answer.status)}${also.length === 0 ? '' : `; ${also.join(', ')}`}.`)
    return exitOf.ok
  } finally {
    await client.close()
  }
}

async function release({ args, options, out }: Call<ItemVerbOptions>, verb: 'resume' | 'fail'): Promise<number> {
  const [runId = ''] = args
  if (options.item === undefined) throw new UsageError(`Name the item: pawl run ${verb} ${runId} --item <seq>. "pawl inbox --run ${runId}" lists the blocked ones.`)
  if (options.dryRun) throw new UsageError('--dry-run speaks about a whole run; leave --item away.')
  const client = await openClient(options, out)
  try {
    const item = await client.releaseItem(runId, options.item, verb, { note: options.note, newCalls: options.newCalls })
    out.emit(itemToWire(item))
    out.line(`Item ${item.seq} of run ${runId} is ${paintStatus(item.status)}.`)
    return exitOf.ok
  } finally {
    await client.close()
  }
}
