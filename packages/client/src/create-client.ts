import { Ledger } from '@pawl/ledger'
import type { PawlClient } from './contract.ts'
import { createDirectClient, type DirectOptions } from './direct-client.ts'
import { createHttpClient, type HttpOptions } from './http-client.ts'

export type ClientOptions = HttpOptions | DirectOptions | (Omit<DirectOptions, 'ledger' | 'close'> & { readonly databaseUrl: string })

/** `{ url, token }` over HTTP; `{ databaseUrl }` or `{ ledger }` on the ledger itself. The methods are the same. */
export function createClient(options: ClientOptions): PawlClient {
  if ('url' in options) return createHttpClient(options)
  if ('ledger' in options) return createDirectClient(options)
  const { databaseUrl, ...rest } = options
  const ledger = new Ledger({ url: databaseUrl, name: 'pawl-client' })
  return createDirectClient({ ...rest, ledger, close: () => ledger.close() })
}
