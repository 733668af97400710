/**
 * Queue names. They carry the ledger's short id, so that two deployments on one store never share a queue, and they
 * can be read back: a board that finds a name knows its agent and version.
 */
import { PawlError } from '@pawl/core'
import type { Channel } from './port.ts'

const longestName = 400

/** First 8 hex digits of the ledger's id. */
function shortId(ledgerId: string): string {
  const short = ledgerId.replaceAll('-', '').slice(0, 8).toLowerCase()
  if (/^[0-9a-f]{8}$/.test(short)) return short
  throw new PawlError('BAD_LEDGER_ID', `"${ledgerId}" is not a ledger id: it must begin with 8 hex digits, as a UUID does. Pass the id the ledger was created with.`)
}

/** Keeps letters, digits and `-_.!~*'()`; everything else, `:` and `@` among it, becomes `%XX`. */
function encodePart(part: string, what: string): string {
  if (part !== '' && !/\p{Surrogate}/u.test(part)) return encodeURIComponent(part)
  throw new PawlError('BAD_QUEUE_NAME', `An agent's ${what} is ${part === '' ? 'empty' : 'not valid Unicode'}, so no queue can be named after it. Give the agent a proper ${what}.`, 'fail', { what })
}

export interface QueueNames {
  /** `pawl-<short>-`: what every queue of this ledger begins with. */
  readonly start: string
  /** Redis key prefix, hash-tagged so that all keys of a ledger's queues live in one slot of a Redis Cluster. */
  readonly prefix: string
  /** One job per run, for the board. */
  readonly runs: string
  /** Holds the marker job and nothing else. */
  readonly marker: string
  /** `pawl-<short>-split`, or `pawl-<short>-<agent>@<version>`. The `@` keeps agent names apart from `split` and `runs`. */
  of(channel: Channel): string
}

export function nameQueues(ledgerId: string): QueueNames {
  const short = shortId(ledgerId)
  const start = `pawl-${short}-`
  return {
    start,
    prefix: `{pawl-${short}}`,
    runs: `${start}runs`,
    marker: `${start}marker`,
    of(channel) {
      if (channel.kind === 'split') return `${start}split`
      const name = `${start}${encodePart(channel.agent, 'name')}@${encodePart(channel.version, 'version')}`
      if (name.length <= longestName) return name
      throw new PawlError('BAD_QUEUE_NAME', `The queue of agent "${channel.agent.slice(0, 40)}…" would have a name of ${name.length} characters; the limit is ${longestName}. Shorten the agent's name or version.`, 'fail')
    },
  }
}

/** The channel a queue of this ledger rings for; undefined for the queue of runs and for names of others. */
export function channelOf(name: string, names: QueueNames): Channel | undefined {
  if (!name.startsWith(names.start)) return undefined
  const rest = name.slice(names.start.length)
  if (rest === 'split') return { kind: 'split' }
  const [agent, version] = rest.split('@')
  return agent !== undefined && version !== undefined ? { kind: 'agent', agent: decodeURIComponent(agent), version: decodeURIComponent(version) } : undefined
}
