/** The run's items: by status and kind, more of them as one scrolls. Only what is seen is drawn. */
import { Anchor, Button, Group, Loader, Text } from '@mantine/core'
import type { Item, Run } from '@pawl/client/http'
import { isEndedRun, ITEM_STATUSES, type ItemStatus, visibleText } from '@pawl/core'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef } from 'react'
import { Link, useSearchParams } from 'react-router'
import { useApi } from '../../api.ts'
import { itemPath } from '../../place.ts'
import { calmMs, liveMs } from '../../queries.ts'
import { Empty } from '../../ui/empty.tsx'
import { Status } from '../../ui/status.tsx'
import { Visible } from '../../ui/visible.tsx'
import { When } from '../../ui/when.tsx'
import { number, reasons, toneOf, words } from '../../words.ts'

const perPage = 200
/** Whoever has scrolled past many pages reads; the picture above stays new. */
const pagesKeptLive = 2
const rowHeight = 40

const tallyName: Readonly<Record<ItemStatus, keyof Run['tally']>> = {
  pending: 'pending', in_progress: 'inProgress', blocked: 'blocked', done: 'done', failed: 'failed', cancelled: 'cancelled', compensated: 'compensated',
}

export function Items({ run }: { readonly run: Run }) {
  const [search, setSearch] = useSearchParams()
  const wanted = search.get('status')
  const status = ITEM_STATUSES.find((each) => each === wanted)
  const show = (next: ItemStatus | undefined): void => setSearch(next === undefined ? {} : { status: next }, { replace: true })
  return (
    <section aria-label="Items">
      <Group gap={6} mb="xs" role="group" aria-label="By status">
        <button type="button" className="chip" aria-pressed={status === undefined} onClick={() => show(undefined)}>all <b>{number(run.tally.total)}</b></button>
        {ITEM_STATUSES.filter((each) => run.tally[tallyName[each]] > 0 || each === status).map((each) => (
          <button key={each} type="button" className="chip" aria-pressed={each === status} onClick={() => show(each === status ? undefined : each)}><span className="dot" data-tone={toneOf(each)} />{words(each)} <b>{number(run.tally[tallyName[each]])}</b></button>
        ))}
      </Group>
      <List run={run} status={status} />
    </section>
  )
}

function List({ run, status }: { readonly run: Run; readonly status: ItemStatus | undefined }) {
  const api = useApi()
  const isEnded = isEndedRun(run.status)
  const { data, hasNextPage, fetchNextPage, isFetchingNextPage, isPending, refetch } = useInfiniteQuery({
    queryKey: ['run', run.id, 'items', status ?? 'all'],
    queryFn: ({ pageParam }) => api.listItems(run.id, { status, cursor: pageParam, limit: perPage }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ cursor }) => cursor ?? undefined,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > pagesKeptLive ? false : isEnded ? calmMs * 2 : liveMs),
    placeholderData: keepPreviousData,
  })
  const items = data?.pages.flatMap(({ entries }) => entries) ?? []
  if (isPending) return <Group justify="center" p="lg"><Loader size="sm" aria-label="Loading" /></Group>
  if (items.length === 0) return <Empty sentence={status === undefined ? 'The run has no items yet.' : `No item is ${words(status)}.`} />
  const isOld = (data?.pages.length ?? 0) > pagesKeptLive
  return (
    <>
      <Rows runId={run.id} items={items} onEnd={() => { if (hasNextPage && !isFetchingNextPage) void fetchNextPage() }} />
      <Group gap="xs" mt={4}>
        <Text size="xs" c="dimmed">{number(items.length)}{hasNextPage ? ' so far; scroll for more' : ' in all'}{isOld && !isEnded && ' · as they were when they were asked for'}</Text>
        {isOld && !isEnded && <Button size="compact-xs" variant="subtle" onClick={() => { void refetch() }}>Ask again</Button>}
      </Group>
    </>
  )
}

function Rows({ runId, items, onEnd }: { readonly runId: string; readonly items: readonly Item[]; readonly onEnd: () => void }) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtualizer = useVirtualizer({ count: items.length, getScrollElement: () => scroller.current, estimateSize: () => rowHeight, overscan: 12 })
  const rows = virtualizer.getVirtualItems()
  const isNearEnd = (rows.at(-1)?.index ?? 0) >= items.length - 40
  useEffect(() => { if (isNearEnd) onEnd() })
  return (
    <div ref={scroller} className="virtual" role="table" aria-label="Items" aria-rowcount={items.length + 1} tabIndex={0}>
      <div role="rowgroup"><div className="virtual-row virtual-head" role="row"><span role="columnheader">Item</span><span role="columnheader">Status</span><span role="columnheader">Attempts</span><span role="columnheader">Outcome</span><span role="columnheader">Last</span></div></div>
      <div role="rowgroup" style={{ height: virtualizer.getTotalSize(), position: 'relative' }}>
        {rows.map(({ key, index, start }) => {
          const item = items[index]
          return item === undefined ? null : <div key={key} className="virtual-row" role="row" aria-rowindex={index + 2} style={{ position: 'absolute', top: 0, transform: `translateY(${start}px)`, height: rowHeight }}><Cells runId={runId} item={item} /></div>
        })}
      </div>
    </div>
  )
}

function Cells({ runId, item }: { readonly runId: string; readonly item: Item }) {
  return (
    <>
      <span role="cell"><Anchor component={Link} to={itemPath(runId, item.seq)} size="sm" title={visibleText(item.key)}><Text span c="dimmed" size="sm" className="nums">{item.seq}</Text> <Visible text={item.key} /></Anchor>{item.kind !== 'work' && <> <span className="label">{item.kind}</span></>}</span>
      <span role="cell"><Status name={item.status} /></span>
      <span role="cell" className="nums">{item.attempts}{item.failures > 0 && <Text span size="xs" c="dimmed"> ({item.failures} failed)</Text>}</span>
      <span role="cell"><Outcome item={item} /></span>
      <span role="cell"><When at={item.finishedAt ?? item.startedAt} /></span>
    </>
  )
}

function Outcome({ item }: { readonly item: Item }) {
  if (item.error !== null && item.status !== 'done') return <Text span size="sm" className="tone-text" data-tone="bad"><Visible text={`${item.error.code ?? item.error.name}: ${item.error.message}`.slice(0, 160)} /></Text>
  if (item.blockedReason !== null) return <Text span size="sm" title={reasons[item.blockedReason]}>{words(item.blockedReason)}</Text>
  return item.resultRef === null ? <Text span c="dimmed">–</Text> : <Text span size="sm" ff="monospace"><Visible text={item.resultRef.slice(0, 80)} /></Text>
}
