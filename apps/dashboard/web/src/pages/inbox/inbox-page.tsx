/** What waits for a person: all that is needed to decide, and what each answer will cause. */
import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { Link, useSearchParams } from 'react-router'
import { useApi, useMay } from '../../api.ts'
import { inboxPath, runPath } from '../../place.ts'
import { Empty } from '../../ui/empty.tsx'
import { Page } from '../../ui/page.tsx'
import { Problem } from '../../ui/problem.tsx'
import { plural, shortId, words } from '../../words.ts'
import { EntryCard } from './entry-card.tsx'
import { groupCalls, hold, read, tidy, type Held } from './held.ts'
import { TogetherDialog, TogetherNotice, type Chosen } from './together.tsx'

const perPage = 50
const everyMs = 2_000

const none: readonly Held[] = []
const kinds = [['in_doubt', 'in doubt'], ['approval', 'approvals'], ['question', 'questions'], ['blocked', 'blocked']] as const

export function Component() {
  const [search] = useSearchParams()
  const runId = search.get('run') ?? undefined
  return <Inbox key={runId ?? ''} runId={runId} />
}

function useInbox(runId: string | undefined) {
  const api = useApi()
  const query = useInfiniteQuery({
    queryKey: ['inbox', runId], initialPageParam: undefined as string | undefined, refetchInterval: everyMs,
    queryFn: ({ pageParam }) => api.inbox({ runId, cursor: pageParam, limit: perPage }), getNextPageParam: ({ cursor }) => cursor ?? undefined,
  })
  const { data } = query
  const [held, setHeld] = useState(none)
  const [seen, setSeen] = useState<typeof data>()
  // While rendering: nobody sees an answer's form between what was and what is.
  if (data !== undefined && data !== seen) {
    setSeen(data)
    setHeld(hold(held, data.pages.flatMap(({ entries }) => entries), data.pages.at(-1)?.cursor === null))
  }
  return { query, held, setHeld }
}

function Inbox({ runId }: { readonly runId: string | undefined }) {
  const { query, held, setHeld } = useInbox(runId)
  const [kind, setKind] = useState<string>()
  const [chosen, setChosen] = useState<Chosen>()
  const mayAnswer = useMay('operate')
  useCardKeys()
  const groups = useMemo(() => groupCalls(held), [held])
  const gone = held.filter(({ now }) => now === undefined).length
  const shown = kind === undefined ? held : held.filter(({ entry }) => entry.kind === kind)
  return (
    <Page title="Inbox" actions={gone > 0 && <Button size="xs" variant="default" onClick={() => setHeld(tidy)}>Put away what no longer waits ({gone})</Button>}>
      <Stack gap="md" maw={980}>
        {runId !== undefined && <Text size="sm">Only run <Anchor component={Link} to={runPath(runId)} inherit>{shortId(runId)}</Anchor>. <Anchor component={Link} to={inboxPath()} inherit>All runs</Anchor></Text>}
        {query.error !== null && <Problem error={query.error} onRetry={() => { void query.refetch() }} />}
        {held.length > 0 && <Kinds held={held} kind={kind} onKind={setKind} />}
        {mayAnswer && groups.map((group) => <TogetherNotice key={`${group.runId} ${group.tool}`} group={group} onOpen={setChosen} />)}
        {chosen !== undefined && <TogetherDialog chosen={chosen} onClose={() => setChosen(undefined)} />}
        {query.data !== undefined && held.length === 0 && <Empty sentence="Nothing waits for you. What needs a person appears here by itself; on the command line it is listed by:" command="npx pawl inbox" />}
        {shown.map((one) => <EntryCard key={one.id} held={one} onRead={() => setHeld((all) => read(all, one.id))} />)}
        {query.hasNextPage && <Group><Button variant="default" loading={query.isFetchingNextPage} onClick={() => { void query.fetchNextPage() }}>Show more</Button></Group>}
      </Stack>
    </Page>
  )
}

function Kinds({ held, kind, onKind }: { readonly held: readonly Held[]; readonly kind: string | undefined; readonly onKind: (kind: string | undefined) => void }) {
  const count = (name: string): number => held.filter(({ entry, now }) => now !== undefined && entry.kind === name).length
  return (
    <Group gap="xs" role="group" aria-label="What is shown">
      <button type="button" className="chip" aria-pressed={kind === undefined} onClick={() => onKind(undefined)}>All <b>{held.filter(({ now }) => now !== undefined).length}</b></button>
      {kinds.filter(([name]) => held.some(({ entry }) => entry.kind === name)).map(([name, label]) => (
        <button key={name} type="button" className="chip" aria-pressed={kind === name} onClick={() => onKind(name)}>{words(label)} <b>{count(name)}</b></button>
      ))}
      <Text size="xs" c="dimmed" visibleFrom="sm">j and k go from one to the next. {plural(held.length, 'thing')} shown.</Text>
    </Group>
  )
}

/** `j` and `k` go to the next and the previous card; from there Tab leads to its answers. */
function useCardKeys(): void {
  const go = (by: 1 | -1) => (): void => {
    const cards = [...document.querySelectorAll<HTMLElement>('article[data-entry]')]
    const at = cards.findIndex((card) => card.contains(document.activeElement))
    const next = cards[at === -1 ? (by === 1 ? 0 : cards.length - 1) : Math.min(cards.length - 1, Math.max(0, at + by))]
    next?.focus()
    next?.scrollIntoView({ block: 'start' })
  }
  useHotkeys([['j', go(1)], ['k', go(-1)]])
}
