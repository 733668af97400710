/** The yes to a preview: done once, and said; or not done, and why. */
import { Alert, Button, Group } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Problem, tellDone } from '../ui/problem.tsx'

export function NotAsShown({ who = 'the run has' }: { readonly who?: string }) {
  return <Alert color="orange" role="alert">Not done: {who} changed since you looked. This is what would happen now.</Alert>
}

interface ConfirmProps {
  readonly runId: string
  readonly button: string
  readonly isEnding?: boolean
  readonly onClose: () => void
  /** What was done, in words; undefined: nothing was. */
  readonly act: () => Promise<string | undefined>
}

export function Confirm({ runId, button, isEnding = false, onClose, act }: ConfirmProps) {
  const queries = useQueryClient()
  const [error, setError] = useState<unknown>()
  const [isActing, setActing] = useState(false)
  const go = async (): Promise<void> => {
    setActing(true)
    setError(undefined)
    try {
      const sentence = await act()
      if (sentence === undefined) return
      tellDone(sentence)
      onClose()
    } catch (refusal) {
      setError(refusal)
    } finally {
      setActing(false)
      void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey.includes(runId) })
    }
  }
  return (
    <>
      {error !== undefined && <Problem error={error} title="Not done" />}
      <Group>
        <Button {...(isEnding ? { color: 'red' } : {})} loading={isActing} onClick={() => { void go() }}>{button}</Button>
        <Button variant="default" onClick={onClose}>Leave it as it is</Button>
      </Group>
    </>
  )
}
