/** One run: how far it is, why parts of it are not, what it may be told to do. */
import { Anchor, Breadcrumbs, Code, Group, Loader, Paper, SimpleGrid, Stack, Text } from '@mantine/core'
import { isEndedRun, PawlError } from '@pawl/core'
import type { Run } from '@pawl/client/http'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from 'react-router'
import { useApi } from '../../api.ts'
import { inboxPath } from '../../place.ts'
import { calmMs, liveMs } from '../../queries.ts'
import { Page } from '../../ui/page.tsx'
import { Problem } from '../../ui/problem.tsx'
import { PARTS, ProgressBar } from '../../ui/progress-bar.tsx'
import { Status } from '../../ui/status.tsx'
import { Visible } from '../../ui/visible.tsx'
import { number, reasons, words } from '../../words.ts'
import { Details } from './details.tsx'
import { Facts } from './facts.tsx'
import { Failures } from './failures.tsx'
import { Pace } from './pace.tsx'
import { Squares } from './squares.tsx'
import { useEvents, type Events } from './use-events.ts'
import { Verbs } from './verbs.tsx'

export function Component() {
  const { runId = '' } = useParams()
  const api = useApi()
  const { data: run, error, refetch } = useQuery({
    queryKey: ['run', runId, 'head'], queryFn: () => api.getRun(runId),
    refetchInterval: ({ state }) => (state.data !== undefined && isEndedRun(state.data.status) ? calmMs : liveMs),
  })
  if (run !== undefined) return <Known run={run} />
  if (error === null) return <Page title="Run"><Group justify="center" p="xl"><Loader aria-label="Loading" /></Group></Page>
  const isMissing = error instanceof PawlError && error.code === 'NOT_FOUND'
  return <Page title={isMissing ? 'There is no such run' : 'Run'}><Stack><Problem error={error} {...(isMissing ? {} : { onRetry: () => { void refetch() } })} /><Anchor component={Link} to="/">To the runs</Anchor></Stack></Page>
}

function Known({ run }: { readonly run: Run }) {
  const events = useEvents(run.id)
  return (
    <Page title={`${run.agent} ${run.id}`} above={<Breadcrumbs fz="sm" mb={4}><Anchor component={Link} to="/" size="sm">Runs</Anchor><Code className="break">{run.id}</Code></Breadcrumbs>} heading={<Heading run={run} events={events} />} actions={<Verbs run={run} />}>
      <Stack gap="md">
        <Progress run={run} />
        <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="md">
          <Pace run={run} />
          <Failures run={run} />
          <Facts run={run} />
        </SimpleGrid>
        <Details run={run} events={events} />
      </Stack>
    </Page>
  )
}

function Heading({ run, events }: { readonly run: Run; readonly events: Events }) {
  return (
    <Group component="span" gap="xs">
      <span><Visible text={run.agent} /><Text span inherit c="dimmed" fw={400}>@<Visible text={run.agentVersion} /></Text></span>
      <Status name={run.status} />
      {run.paused && <span className="state tone" data-tone="quiet">paused</span>}
      <Text span size="xs" c="dimmed" fw={400} title={events.isStreaming ? 'Events come as they happen.' : 'Events are asked for every few seconds.'}>{events.isStreaming ? '● live' : '○ asking'}</Text>
    </Group>
  )
}

function Progress({ run }: { readonly run: Run }) {
  const api = useApi()
  const isEnded = isEndedRun(run.status)
  const { data: squares } = useQuery({ queryKey: ['run', run.id, 'squares'], queryFn: () => api.squares(run.id), refetchInterval: isEnded ? calmMs * 2 : liveMs, structuralSharing: false })
  const { tally, blockedReasons } = run
  const rest = tally.pending + tally.inProgress + tally.blocked
  const percent = tally.total === 0 ? 0 : Math.floor(((tally.total - rest) / tally.total) * 100)
  const blocked = Object.entries(blockedReasons)
  return (
    <Paper withBorder p="md" component="section" aria-label="Progress">
      <ProgressBar tally={tally} />
      <Group gap="md" my="xs" fz="sm" className="nums">
        <b>{percent} %</b>
        {PARTS.filter(([name]) => tally[name] > 0).map(([name, tone, status]) => <span key={name}><span className="dot" data-tone={tone} /> {number(tally[name])} {words(status)}</span>)}
        <Text span size="sm" c="dimmed">of {number(tally.total)}</Text>
      </Group>
      {blocked.length > 0 && (
        <Text size="sm" mb="xs">
          Waiting for a reason: {blocked.map(([reason, n], i) => <span key={reason} title={reasons[reason as keyof typeof reasons]}>{i > 0 && ', '}{number(n)} {words(reason)}</span>)}.{' '}
          <Anchor component={Link} to={inboxPath(run.id)} size="sm">Answer in the inbox</Anchor>
        </Text>
      )}
      {squares !== undefined && <Squares answer={squares} />}
    </Paper>
  )
}
