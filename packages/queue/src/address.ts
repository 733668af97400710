/** The store's address as people may see it: host and port, never user, password or options. */
import { PawlError } from '@pawl/core'
import type { QueueOptions } from './port.ts'

const schemes = { redis: ['redis:', 'rediss:'], postgres: ['postgres:', 'postgresql:'] } as const
const examples = { redis: 'redis://host:6379', postgres: 'postgres://user@host:5432/database' } as const

function parse(text: string): URL | undefined {
  if (URL.canParse(text)) return new URL(text)
  // A Postgres socket address has no host (`postgres://user:pw@/db?host=/run/pg`), which URL refuses beside a user.
  const withHost = text.replace('@/', '@socket/')
  return URL.canParse(withHost) ? new URL(withHost) : undefined
}

/** Host and port of the store. Refuses what the backend cannot use, with `BAD_QUEUE_URL`. */
export function addressOf({ backend, url: text }: Pick<QueueOptions, 'backend' | 'url'>): string {
  const url = parse(text)
  const known: readonly string[] = schemes[backend]
  if (url === undefined || !known.includes(url.protocol)) {
    throw new PawlError('BAD_QUEUE_URL', `The address of the queue's store is not a ${backend} URL. Write it like ${examples[backend]}.`)
  }
  if (backend === 'redis' && url.searchParams.has('keyPrefix')) {
    throw new PawlError('BAD_QUEUE_URL', `The Redis URL for ${url.host} sets keyPrefix, which breaks BullMQ's scripts. Remove it: queue names already carry the ledger's id, so deployments can share a Redis.`)
  }
  const socket = url.searchParams.get('host')
  return backend === 'postgres' && socket !== null ? socket : url.host
}
