/** What something would do, found out by a dry run that is repeated while it is shown, and the yes to it. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { actAsShown } from './as-shown.ts'

export const againMs = 2_000

interface Looking<P> {
  readonly queryKey: readonly unknown[]
  readonly look: () => Promise<P>
  /** Whether a yes to the one is a yes to the other. */
  readonly isSame: (shown: P, now: P) => boolean
  readonly everyMs?: number
}

export function usePreview<P>({ queryKey, look, isSame, everyMs = againMs }: Looking<P>) {
  const [isOther, setOther] = useState(false)
  const { data: preview, error, refetch } = useQuery<P>({ queryKey: ['preview', ...queryKey], queryFn: look, refetchInterval: everyMs, gcTime: 0, staleTime: 0 })
  /** Undefined, nothing done and the new preview shown, where it is another one by now (`isOther`). */
  const onlyAsShown = async <R extends {}>(act: (now: P) => Promise<R>): Promise<R | undefined> => {
    if (preview === undefined) return undefined
    setOther(false)
    const done = await actAsShown(preview, look, isSame, act)
    if (done !== undefined) return done
    setOther(true)
    await refetch()
    return undefined
  }
  return { preview, error, refetch, isOther, onlyAsShown }
}
