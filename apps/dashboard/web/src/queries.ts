/** How pages ask: what is shown stays up to date while somebody looks, and an answer that was refused is not asked for again. */
import { PawlError } from '@pawl/core'
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { setReachable } from './reachable.ts'
import { goToLogin } from './place.ts'

/** For what moves while work goes on. The producer keeps the dear answers for a second; with this on top, pages are within two of the ledger. */
export const liveMs = 750
/** For what seldom moves. */
export const calmMs = 5_000

const isPassing = (error: unknown): boolean => error instanceof PawlError && error.next === 'retry'

function look(error: unknown): void {
  if (error instanceof PawlError && error.code === 'UNAUTHENTICATED') goToLogin()
  else if (isPassing(error)) setReachable(false)
}

export const createQueries = (): QueryClient => new QueryClient({
  queryCache: new QueryCache({ onError: look, onSuccess: () => setReachable(true) }),
  mutationCache: new MutationCache({ onError: look }),
  defaultOptions: {
    queries: { retry: (failures, error) => failures < 2 && isPassing(error), retryDelay: 1_000, staleTime: 500, gcTime: 60_000, refetchOnWindowFocus: true },
    mutations: { retry: false },
  },
})
