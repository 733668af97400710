/** After a failover or restore: what may be missing, and where to look. Nobody can list what was lost; this names the time and the places. */
import { readGap, type Gap, type Ledger } from '@pawl/ledger'
import { many, plain, time } from '../cli/plain.ts'
import { fail, warn, type Finding } from './finding.ts'

/** Names what was looked at, so that nothing is cleared that came after it. */
export const clearCommand = ({ digest }: Gap): string => `pawl ledger clear --reviewed ${digest}`

/** The doctor's: of many lost calls the first. The clearing is then asked for where all are shown. */
export async function checkGap(ledger: Ledger, most = 20): Promise<Finding[]> {
  const gap = await readGap(ledger)
  const left = gap.lostCalls.length - most
  return left <= 0 ? findingsOf(gap) : [
    ...findingsOf({ ...gap, lostCalls: gap.lostCalls.slice(0, most) }, 'pawl ledger clear'),
    fail('gap-call', `${many(left, 'more call')} could not be brought back`, 'See all of them: pawl ledger clear'),
  ]
}

/** All of it. */
export function findingsOf(gap: Gap, next = clearCommand(gap)): Finding[] {
  const { keptUntil, noticedAt, why, lostCalls, broughtBack, begun, waiting, firstBegun, unreported } = gap
  const window = `between ${time(keptUntil)} and ${noticedAt === null ? 'now' : time(noticedAt)} UTC`
  return [
    fail('timeline', `the ledger is on another server, or another history, than it was written on${why === null ? '' : ` (${plain(why)})`}: what it acknowledged ${window} may be missing, and workers send nothing but reads`,
      `Compare what the receivers got in that time with pawl run show, then: ${next}`),
    ...(unreported.length === 0 ? [] : [warn('gap-workers', `${many(unreported.length, 'worker')} did not say yet what ${unreported.length === 1 ? 'it remembers' : 'they remember'}: ${unreported.map(placeOf).join(', ')}`,
      'Wait for them, or make sure that they are dead. One that comes back after the clearing with a call that was lost stops the fleet again.')]),
    ...(broughtBack === 0 ? [] : [warn('gap-brought-back', `${many(broughtBack, 'call')} that workers remembered ${broughtBack === 1 ? 'is' : 'are'} in the ledger again, and will be settled like any call in flight`,
      'Nothing to do; what only a person can settle comes into pawl inbox.')]),
    ...lostCalls.map((call) => fail('gap-call', `a worker made ${plain(call.tool)} (${call.effect}) at ${at(call.at)} UTC for item ${call.item} of run ${call.run}; ${whys[call.why]}`,
      `Look for key ${plain(call.key)} at the receiver.`)),
    ...(begun + waiting === 0 ? [] : [warn('gap-items', `${many(begun, 'item')} had been begun and ${many(waiting, 'item')} may have been: ${placesOf(firstBegun)}`,
      'Calls of these items in that time may have been made and forgotten: they would be made again. Cancel a run that must not: pawl run cancel <run>')]),
  ]
}

const whys = {
  missing: 'the ledger has no such item any more', ended: 'that item has ended and does not know of it',
  twice: 'the ledger has it with the result of another send: it may have been made twice',
} as const

const at = (iso: string): string => iso.slice(0, 19).replace('T', ' ')

const placeOf = ({ name, host, pid, seenAt }: Gap['unreported'][number]): string => `${plain(name)} on ${plain(host)} (pid ${pid}, last heard from ${at(seenAt)} UTC)`

function placesOf(items: Gap['firstBegun']): string {
  if (items === null) return 'none is recorded as begun'
  return items.map((item) => `item ${item.item} of run ${item.run} (${plain(item.agent)}, ${many(item.calls, 'call')} kept)`).join(', ')
}
