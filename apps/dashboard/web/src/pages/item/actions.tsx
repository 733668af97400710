/** Each call of the item: arguments, key, result, attempts, evidence, and what takes it back. */
import { Anchor, Badge, Button, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import type { Action } from '@pawl/client/http'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useApi } from '../../api.ts'
import { Empty } from '../../ui/empty.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Status } from '../../ui/status.tsx'
import { Value, Visible } from '../../ui/visible.tsx'
import { useWhole } from '../../ui/whole-action.tsx'
import { ActionFacts, Evidence } from '../inbox/facts.tsx'

const perPage = 50
const everyMs = 2_000

export function Actions({ runId, seq }: { readonly runId: string; readonly seq: number }) {
  const api = useApi()
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['actions', runId, seq], initialPageParam: undefined as string | undefined, refetchInterval: everyMs,
    queryFn: ({ pageParam }) => api.listActions(runId, { itemSeq: seq, cursor: pageParam, limit: perPage }), getNextPageParam: ({ cursor }) => cursor ?? undefined,
  })
  if (error !== null && data === undefined) return <Problem error={error} onRetry={() => { void refetch() }} />
  const actions = data?.pages.flatMap(({ entries }) => entries) ?? []
  if (data !== undefined && actions.length === 0) return <Empty sentence="It has called no tool yet." />
  return (
    <Stack gap="sm">
      {actions.map((action) => <ActionCard key={action.id} action={action} />)}
      {hasNextPage && <Group><Button variant="default" loading={isFetchingNextPage} onClick={() => { void fetchNextPage() }}>Show more</Button></Group>}
    </Stack>
  )
}

function ActionCard({ action: listed }: { readonly action: Action }) {
  const { shown: action, note } = useWhole(listed)
  const hasResult = action.status === 'committed' || action.status === 'compensated'
  return (
    <Paper withBorder p="md" component="article" id={`action-${action.id}`} data-action={action.id}>
      <Stack gap="xs">
        <Group gap="xs">
          <Title order={3} className="break"><Visible text={action.tool} /><Text span c="dimmed" inherit>@<Visible text={action.toolVersion} /></Text></Title>
          <Status name={action.status} />
          <Badge variant="light" tt="none">{action.effect}</Badge>
          {action.undoes !== null && <Text size="sm">undoes <Anchor href={`#action-${action.undoes}`} inherit>action {action.undoes}</Anchor></Text>}
        </Group>
        <ActionFacts action={action} />
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <div><Text size="sm" fw={600} mb={4}>Arguments</Text><Value value={action.args} /></div>
          <div><Text size="sm" fw={600} mb={4}>Result</Text>{hasResult ? <Value value={action.result} /> : <Text size="sm" c="dimmed">Not known.</Text>}</div>
        </SimpleGrid>
        {(action.evidence.length > 0 || action.appliedEvidence !== null) && <div><Text size="sm" fw={600} mb={4}>Evidence</Text><Evidence action={action} /></div>}
        {action.undo !== null && <details><summary>Its inverse</summary><Value value={action.undo} /></details>}
        {note}
      </Stack>
    </Paper>
  )
}
