/**
 * The one way from the pages to the ledger: the client that services use, over the dashboard's own `/api`, so the pages can do nothing the
 * API cannot. A refusal is a `PawlError` with its code and the sentence that says what to do.
 */
import { createHttpClient, type PawlClient } from '@pawl/client/http'
import { PawlError } from '@pawl/core'
import { createContext, use } from 'react'
import { z } from 'zod'
import { base } from './place.ts'

export const ROLES = ['read', 'run', 'operate'] as const
export type Role = (typeof ROLES)[number]

const sessionSchema = z.object({ user: z.string(), role: z.enum(ROLES), csrf: z.string(), base: z.string(), version: z.string() })
export type Session = z.infer<typeof sessionSchema>

export const apiPath = `${base}/api`

export function openApi(session: Pick<Session, 'csrf'>): PawlClient {
  return createHttpClient({ url: location.origin + apiPath, timeoutMs: 20_000, headers: { 'x-pawl-csrf': session.csrf } })
}

/** Throws `UNAUTHENTICATED` when nobody is logged in. */
export async function readSession(): Promise<Session> {
  let response: Response
  try {
    response = await fetch(`${base}/session`, { headers: { accept: 'application/json' } })
  } catch (cause) {
    throw new PawlError('DASHBOARD_UNREACHABLE', 'The dashboard does not answer. Is it running? This page tries again.', 'retry', {}, { cause })
  }
  if (response.status === 401) throw new PawlError('UNAUTHENTICATED', 'Log in first.')
  if (!response.ok) throw new PawlError('DASHBOARD_FAILED', `The dashboard answered ${response.status} when asked who is logged in. Its log says why.`, 'retry')
  return sessionSchema.parse(await response.json())
}

export interface Connection {
  readonly api: PawlClient
  readonly session: Session
}

export const ConnectionContext = createContext<Connection | null>(null)

function useConnection(): Connection {
  const connection = use(ConnectionContext)
  if (connection === null) throw new Error('Nothing below <Connected> was rendered outside it.')
  return connection
}

export const useApi = (): PawlClient => useConnection().api
export const useSession = (): Session => useConnection().session

/** Whether the one who looks may also do it; whoever may not is shown no button for it. */
export function useMay(needed: Role): boolean {
  return ROLES.indexOf(useSession().role) >= ROLES.indexOf(needed)
}
