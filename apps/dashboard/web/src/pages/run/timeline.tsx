/** What the run did and when: a line per call, and on each item's line its attempts, with the ones that were lost marked. */
import { Button, Group, NumberInput, Select, Stack, Text } from '@mantine/core'
import type { Run } from '@pawl/client/http'
import { ACTION_STATUSES, isEndedRun } from '@pawl/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../api.ts'
import { calmMs, liveMs } from '../../queries.ts'
import { Empty } from '../../ui/empty.tsx'
import { Problem } from '../../ui/problem.tsx'
import { words } from '../../words.ts'
import { Waterfall } from './waterfall.tsx'

const perPage = 200

export function Timeline({ run }: { readonly run: Run }) {
  const api = useApi()
  const [itemSeq, setItemSeq] = useState<number>()
  const [wanted, setWanted] = useState<string | null>(null)
  /** Of the pages before this one, in order. */
  const [cursors, setCursors] = useState<readonly string[]>([])
  const status = ACTION_STATUSES.find((each) => each === wanted)
  const cursor = cursors.at(-1)
  const { data, error, refetch } = useQuery({
    queryKey: ['run', run.id, 'timeline', itemSeq, status, cursor], queryFn: () => api.listActions(run.id, { itemSeq, status, cursor, limit: perPage }),
    refetchInterval: isEndedRun(run.status) ? calmMs * 2 : 2 * liveMs, placeholderData: keepPreviousData,
  })
  const filter = (change: () => void): void => { setCursors([]); change() }
  return (
    <Stack gap="sm">
      <Group gap="xs" align="flex-end">
        <NumberInput size="xs" w={110} label="Item" placeholder="any" min={0} allowDecimal={false} value={itemSeq ?? ''} onChange={(value) => filter(() => setItemSeq(typeof value === 'number' ? value : undefined))} />
        <Select size="xs" w={170} label="Calls that are" placeholder="any" clearable data={ACTION_STATUSES.map((value) => ({ value, label: words(value) }))} value={wanted} onChange={(value) => filter(() => setWanted(value))} />
        {cursors.length > 0 && <Button size="xs" variant="default" onClick={() => setCursors(cursors.slice(0, -1))}>Earlier</Button>}
        {data !== undefined && data.cursor !== null && <Button size="xs" variant="default" onClick={() => setCursors([...cursors, data.cursor ?? ''])}>Later</Button>}
        <Text size="xs" c="dimmed">Calls in the order they were first intended, at most {perPage} at a time.</Text>
      </Group>
      {error !== null && data === undefined ? <Problem error={error} onRetry={() => { void refetch() }} />
        : data === undefined ? null
        : data.entries.length === 0 ? <Empty sentence="No call is on record here." />
        : <Waterfall run={run} actions={data.entries} />}
    </Stack>
  )
}
