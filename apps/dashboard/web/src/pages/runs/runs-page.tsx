/** All runs: what is going on, and what needs somebody. */
import { Button, Group, Loader, Stack } from '@mantine/core'
import type { Run } from '@pawl/client/http'
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useSearchParams } from 'react-router'
import { useApi, useMay } from '../../api.ts'
import { calmMs, liveMs } from '../../queries.ts'
import { Empty } from '../../ui/empty.tsx'
import { Page } from '../../ui/page.tsx'
import { Problem } from '../../ui/problem.tsx'
import { BulkBar } from './bulk-bar.tsx'
import { BulkResult } from './bulk-result.tsx'
import { filterOf, isFiltered, readView, writeView, type RunsView } from './filter.ts'
import { Filters } from './filters.tsx'
import { RunsTable } from './runs-table.tsx'

const perPage = 50
/** Somebody who has turned over many pages reads; asking for all of them every second would only be load. */
const pagesKeptLive = 3

export function Component() {
  const [search, setSearch] = useSearchParams()
  const view = useMemo(() => readView(search), [search])
  const show = (change: Partial<RunsView>): void => setSearch(writeView({ ...view, ...change }))
  const bulkId = search.get('bulk')
  const mayAct = useMay('operate')
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const { runs, error, isLoading, hasNextPage, fetchNextPage, isFetchingNextPage, refetch } = useRuns(view)
  const byStatus = useCounts(view)

  const withBulk = (id: string | null): void => {
    const next = writeView(view)
    if (id !== null) next.set('bulk', id)
    setSearch(next)
  }

  return (
    <Page title="Runs">
      <Stack gap="sm">
        <Filters view={view} byStatus={byStatus} onChange={show} wantsFocus={search.has('find')} />
        {bulkId !== null && <BulkResult id={bulkId} onClose={() => withBulk(null)} />}
        {mayAct && selected.size > 0 && <BulkBar runs={runs.filter(({ id }) => selected.has(id))} onClear={() => setSelected(new Set())} onStarted={(id) => { setSelected(new Set()); withBulk(id) }} />}
        {error !== null && runs.length === 0 ? <Problem error={error} onRetry={() => { void refetch() }} />
          : isLoading ? <Group justify="center" p="xl"><Loader aria-label="Loading" /></Group>
          : runs.length === 0 ? <Nothing isSearched={isFiltered(view)} />
          : <RunsTable runs={runs} selected={mayAct ? selected : undefined} onSelect={setSelected} onLabel={(label) => show({ labels: [...new Set([...view.labels, label])] })} />}
        {hasNextPage && <Group justify="center"><Button variant="default" loading={isFetchingNextPage} onClick={() => { void fetchNextPage() }}>Show more</Button></Group>}
      </Stack>
    </Page>
  )
}

function Nothing({ isSearched }: { readonly isSearched: boolean }) {
  return isSearched
    ? <Empty sentence="No run matches. Runs are found by the beginning of their id (4 characters or more), by a label’s value, or by the key they were started with." />
    : <Empty sentence="No run was started yet. Start one:" command="npx pawl run start <agent> --input input.json" />
}

function useRuns(view: RunsView) {
  const api = useApi()
  const filter = { ...filterOf(view), ...(view.status.length === 0 ? {} : { status: view.status }) }
  const query = useInfiniteQuery({
    queryKey: ['runs', filter],
    queryFn: ({ pageParam }) => api.listRuns({ ...filter, cursor: pageParam, limit: perPage }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ cursor }) => cursor ?? undefined,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) <= pagesKeptLive ? liveMs : calmMs * 2),
    placeholderData: keepPreviousData,
  })
  // A run that was started between two pages' answers moves the rest down by one: each is shown once.
  const runs = useMemo(() => [...new Map(query.data?.pages.flatMap(({ entries }) => entries.map((run): [string, Run] => [run.id, run]))).values()], [query.data])
  return { ...query, runs }
}

function useCounts(view: RunsView) {
  const api = useApi()
  const filter = filterOf(view)
  return useQuery({ queryKey: ['runs', 'counts', filter], queryFn: () => api.countRuns(filter), refetchInterval: 2 * liveMs, placeholderData: keepPreviousData }).data?.byStatus
}
