/** One item: what its calls did, who held it, what its model decided and is shown, each as the ledger has it. */
import { Alert, Anchor, Group, Loader, SimpleGrid, Stack, Tabs, Text, Title } from '@mantine/core'
import type { Item } from '@pawl/client/http'
import { visibleText } from '@pawl/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams, useSearchParams } from 'react-router'
import { useApi } from '../../api.ts'
import { inboxPath, runPath } from '../../place.ts'
import { liveMs } from '../../queries.ts'
import { Page } from '../../ui/page.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Status } from '../../ui/status.tsx'
import { Value, Visible } from '../../ui/visible.tsx'
import { When } from '../../ui/when.tsx'
import { reasons, shortId, words } from '../../words.ts'
import { isEmptyDetail } from '../inbox/blocked-card.tsx'
import { Fact, Facts } from '../inbox/facts.tsx'
import { Actions } from './actions.tsx'
import { AttemptsTable } from './attempts.tsx'
import { Brief } from './brief.tsx'
import { ItemInbox } from './item-inbox.tsx'
import { TurnsList } from './turns.tsx'

const tabs = ['actions', 'attempts', 'turns', 'brief'] as const

export function Component() {
  const { runId = '', seq = '' } = useParams()
  const api = useApi()
  const n = Number(seq)
  const isNumber = Number.isSafeInteger(n) && n >= 0
  const { data: item, error, refetch } = useQuery({ queryKey: ['item', runId, n], queryFn: () => api.getItem(runId, n), refetchInterval: liveMs, enabled: isNumber })
  const { data: run } = useQuery({ queryKey: ['run', runId], queryFn: () => api.getRun(runId), refetchInterval: liveMs * 5 })
  const [search, setSearch] = useSearchParams()
  const tab = tabs.find((name) => name === search.get('tab')) ?? 'actions'
  if (!isNumber) return <Page title="Item"><Alert color="orange">An item is a number; {visibleText(seq)} is none. <Anchor component={Link} to={runPath(runId)} inherit>To the run</Anchor></Alert></Page>
  if (error !== null && item === undefined) return <Page title={`Item ${n}`}><Problem error={error} onRetry={() => { void refetch() }} /><Text mt="sm"><Anchor component={Link} to="/" inherit>To the runs</Anchor></Text></Page>
  if (item === undefined) return <Page title={`Item ${n}`}><Loader size="sm" aria-label="Loading" /></Page>
  return (
    <Page title={`Item ${n} ${item.key}`} heading={<Group gap="xs"><Text span c="dimmed" inherit>{n}</Text><Visible text={item.key} /><Status name={item.status} /></Group>}>
      <Stack gap="md">
        <Text size="sm"><Anchor component={Link} to="/" inherit>Runs</Anchor> / <Anchor component={Link} to={runPath(runId)} inherit>{run === undefined ? '' : <Visible text={run.agent} />} {shortId(runId)}</Anchor></Text>
        {item.blockedReason !== null && <Alert color="orange" p="xs">Waits: <b>{words(item.blockedReason)}</b>, {reasons[item.blockedReason]}. <Anchor component={Link} to={inboxPath(runId)} inherit>All that waits in this run</Anchor></Alert>}
        <Head item={item} />
        <ItemInbox runId={runId} seq={n} isWaiting={item.status === 'blocked' || item.status === 'in_progress'} />
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <section><Title order={2} mb={6}>Payload</Title><Value value={item.payload} /></section>
          <section><Title order={2} mb={6}>Result</Title>{item.result === null ? <Text c="dimmed" size="sm">None yet.</Text> : <Value value={item.result} />}</section>
        </SimpleGrid>
        <Tabs value={tab} onChange={(name) => setSearch(name === null || name === 'actions' ? {} : { tab: name }, { replace: true })} keepMounted={false}>
          <Tabs.List mb="md">
            <Tabs.Tab value="actions">Actions</Tabs.Tab><Tabs.Tab value="attempts">Attempts</Tabs.Tab><Tabs.Tab value="turns">Turns</Tabs.Tab><Tabs.Tab value="brief">Brief</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="actions"><Actions runId={runId} seq={n} /></Tabs.Panel>
          <Tabs.Panel value="attempts"><AttemptsTable runId={runId} seq={n} /></Tabs.Panel>
          <Tabs.Panel value="turns"><TurnsList runId={runId} seq={n} /></Tabs.Panel>
          <Tabs.Panel value="brief"><Brief runId={runId} seq={n} /></Tabs.Panel>
        </Tabs>
      </Stack>
    </Page>
  )
}

function Head({ item }: { readonly item: Item }) {
  return (
    <>
      <Facts>
        <Fact name="Kind">{item.kind}</Fact>
        <Fact name="Attempts">{item.attempts}{item.failures === 0 ? '' : `, ${item.failures} of them failed`}</Fact>
        <Fact name="Started"><When at={item.startedAt} /></Fact>
        {item.finishedAt !== null ? <Fact name="Ended"><When at={item.finishedAt} /></Fact> : item.status === 'pending' && <Fact name="Due"><When at={item.availableAt} /></Fact>}
        {item.workerId !== null && <Fact name="Held by"><code>{shortId(item.workerId)}</code>, lease <When at={item.leaseUntil} /></Fact>}
        {item.resultRef !== null && <Fact name="Result reference"><code className="break"><Visible text={item.resultRef} /></code></Fact>}
        {item.error !== null && <Fact name="Error"><span className="tone-text" data-tone="bad"><Visible text={`${item.error.code ?? item.error.name}: ${item.error.message}`} /></span></Fact>}
      </Facts>
      {!isEmptyDetail(item.blockedDetail) && <details><summary>What is known of why it waits</summary><Value value={item.blockedDetail} /></details>}
    </>
  )
}
