/** Lists leave big values out of a call: that they do is said, and the call is read whole for whoever wants to see it. */
import { Button, Group, Text } from '@mantine/core'
import { leftOutOf, type Action } from '@pawl/client/http'
import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { useApi } from '../api.ts'
import { plural } from '../words.ts'
import { Problem } from './problem.tsx'

/** The call as it is shown: as the list has it, then whole; and what is said about it. */
export function useWhole(action: Action): { readonly shown: Action; readonly note: ReactNode } {
  const api = useApi()
  const [isWanted, setWanted] = useState(false)
  const left = leftOutOf(action)
  // What an answer is bound to is part of the key: a call that moved on is read anew.
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ['whole-action', action.runId, action.id, action.status, action.attempt, action.evidence.length], queryFn: () => api.getAction(action.runId, action.id),
    enabled: isWanted && left !== undefined, staleTime: Infinity, gcTime: 0,
  })
  if (left === undefined) return { shown: action, note: null }
  if (data !== undefined && data.attempt === action.attempt && data.evidence.length === action.evidence.length) return { shown: data, note: null }
  return {
    shown: action,
    note: error === null ? (
      <Group gap="xs" data-left-out>
        <Text size="sm">{data === undefined ? `${plural(left.values, 'value')} of ${plural(left.bytes, 'byte')} ${left.values === 1 ? 'is' : 'are'} left out here.` : 'It has changed since; a moment.'}</Text>
        <Button size="xs" variant="default" loading={isFetching} onClick={() => { setWanted(true); if (isWanted) void refetch() }}>Show it whole</Button>
      </Group>
    ) : <Problem error={error} title="It could not be read whole" onRetry={() => { void refetch() }} />,
  }
}
