/** After a failover or restore: what may be missing, and where to look. Nobody can list what was lost; this names the time and the places. */
import { readGap, type Ledger } from '@pawl/ledger'
import { many, plain, time } from '../cli/plain.ts'
import { fail, warn, type Finding } from './finding.ts'

export async function checkGap(ledger: Ledger): Promise<Finding[]> {
  const { keptUntil, noticedAt, why, lostCalls, broughtBack, begun, waiting, firstBegun } = await readGap(ledger)
  const window = `between ${time(keptUntil)} and ${noticedAt === null ? 'now' : time(noticedAt)} UTC`
  return [
    fail('timeline', `the ledger is on another server, or another history, than it was written on${why === null ? '' : ` (${plain(why)})`}: what it acknowledged ${window} may be missing, and workers send nothing but reads`,
      'Compare what the receivers got in that time with pawl run show, then: pawl ledger clear --reviewed'),
    ...(broughtBack === 0 ? [] : [warn('gap-brought-back', `${many(broughtBack, 'call')} that workers remembered ${broughtBack === 1 ? 'is' : 'are'} in the ledger again, and will be settled like any call in flight`,
      'Nothing to do; what only a person can settle comes into pawl inbox.')]),
    ...lostCalls.slice(0, 20).map((call) => fail('gap-call', `a worker made ${plain(call.tool)} (${call.effect}) at ${call.at.slice(0, 19).replace('T', ' ')} UTC for item ${call.item} of run ${call.run}; ${whys[call.why]}`,
      `Look for key ${plain(call.key)} at the receiver.`)),
    ...(begun + waiting === 0 ? [] : [warn('gap-items', `${many(begun, 'item')} had been begun and ${many(waiting, 'item')} may have been: ${placesOf(firstBegun)}`,
      'Calls of these items in that time may have been made and forgotten: they would be made again. Cancel a run that must not: pawl run cancel <run>')]),
  ]
}

const whys = {
  missing: 'the ledger has no such item any more', ended: 'that item has ended and does not know of it',
  twice: 'the ledger has it with the result of another send: it may have been made twice',
} as const

function placesOf(items: Awaited<ReturnType<typeof readGap>>['firstBegun']): string {
  if (items === null) return 'none is recorded as begun'
  return items.map((item) => `item ${item.item} of run ${item.run} (${plain(item.agent)}, ${many(item.calls, 'call')} kept)`).join(', ')
}
