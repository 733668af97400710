/** Who works, on what, and where the ledger and the queue differ. */
import { Alert, Anchor, Loader, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import type { Fleet } from '@pawl/client/http'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { useApi } from '../../api.ts'
import { base, inboxPath, runPath } from '../../place.ts'
import { liveMs } from '../../queries.ts'
import { Empty } from '../../ui/empty.tsx'
import { Page } from '../../ui/page.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Visible } from '../../ui/visible.tsx'
import { When } from '../../ui/when.tsx'
import { lasted, number, plural, shortId } from '../../words.ts'
import { Count } from '../../preview/preview-lists.tsx'

export function Component() {
  const api = useApi()
  const { data: fleet, error, refetch } = useQuery({ queryKey: ['fleet'], queryFn: () => api.fleet(), refetchInterval: liveMs * 2 })
  return (
    <Page title="Fleet">
      {error !== null && fleet === undefined && <Problem error={error} onRetry={() => { void refetch() }} />}
      {error === null && fleet === undefined && <Loader size="sm" aria-label="Loading" />}
      {fleet !== undefined && (
        <Stack gap="lg">
          <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="sm">
            <Count name="Live processes" n={fleet.workers.filter(({ isLive }) => isLive).length} />
            <Count name="Items in their hands" n={fleet.workers.reduce((sum, { leases }) => sum + leases, 0)} />
            <Count name="Due now" n={fleet.backlog.due} />
            <Count name="Due later" n={fleet.backlog.delayed} />
            <Count name="Calls not settled yet" n={fleet.unsettled} />
            <Count name="Calls in doubt" n={fleet.inDoubt} />
          </SimpleGrid>
          <Text size="sm" c="dimmed">
            {fleet.backlog.oldestDueMs === null ? 'Nothing waits to be taken up.' : `The oldest due item has waited for ${lasted(fleet.backlog.oldestDueMs)}.`}{' '}
            {fleet.sweeper === null ? 'Nobody sweeps.' : fleet.sweeper.isLive ? <>Swept {number(fleet.sweeper.cycles)} times by {shortId(fleet.sweeper.holder)}.</> : <>The sweeper {shortId(fleet.sweeper.holder)} is gone; the next one takes over.</>}
            {fleet.inDoubt > 0 && <> <Anchor component={Link} to={inboxPath()} inherit>To the inbox</Anchor></>}
          </Text>
          <Drift drift={fleet.drift} />
          <Workers workers={fleet.workers} />
          <Queues queues={fleet.queues} />
        </Stack>
      )}
    </Page>
  )
}

function Drift({ drift: { orphans, unserved, lacking, queue } }: { readonly drift: Fleet['drift'] }) {
  const apart = queue?.filter(({ rung, onQueue }) => rung !== onQueue) ?? []
  const isClean = orphans === 0 && unserved.length === 0 && lacking.length === 0 && apart.length === 0
  return (
    <section aria-label="Drift">
      <Title order={2} mb={6}>Ledger and queue</Title>
      {isClean ? <Text size="sm" c="dimmed">They agree.</Text> : (
        <Stack gap="xs">
          {orphans > 0 && <Alert color="orange" p="xs">{plural(orphans, 'item')} in progress under a lease that has ended. The sweep hands them on; if it stays, no worker is left to take them.</Alert>}
          {unserved.map(({ agent, version, items }) => (
            <Alert key={`${agent}@${version}`} color="red" p="xs">{plural(items, 'item')} of <b><Visible text={agent} /> {version}</b> wait, and no live worker serves that version. Start one, or move their runs to another version.</Alert>
          ))}
          {lacking.map(({ agent, version, items, runId, lacks }) => (
            <Alert key={`${agent}@${version} ${runId}`} color="red" p="xs">{plural(items, 'item')} of <b><Visible text={agent} /> {version}</b> blocked: no live worker has {<Visible text={lacks} />}. <Anchor component={Link} to={runPath(runId)} inherit>One of their runs</Anchor></Alert>
          ))}
          {apart.map(({ agent, version, rung, onQueue }) => (
            <Text key={`${agent}@${version}`} size="sm"><b><Visible text={agent} /> {version}</b>: rung for {number(rung)}, on the queue {number(onQueue)}. A moment’s difference is usual; the sweep mends what stays.</Text>
          ))}
        </Stack>
      )}
    </section>
  )
}

function Workers({ workers }: Pick<Fleet, 'workers'>) {
  return (
    <section aria-label="Workers">
      <Title order={2} mb={6}>Workers</Title>
      {workers.every(({ isLive, serves }) => !isLive || serves.length === 0) && <Empty sentence="Nobody works. Start a worker:" command="npx pawl worker" />}
      {workers.length > 0 && (
        <table className="rows">
          <thead><tr><th>Worker</th><th>Host</th><th>Started</th><th>Seen</th><th className="wide">Serves</th><th>Items</th><th>Build</th></tr></thead>
          <tbody>{workers.map((worker) => (
            <tr key={worker.id} data-worker={worker.id}>
              <td data-name="Worker"><span><Visible text={worker.name} /> <code className="quiet">{shortId(worker.id)}</code>{!worker.isLive && <Text span size="sm" className="tone-text" data-tone="bad"> gone</Text>}</span></td>
              <td data-name="Host"><Visible text={worker.host} />, pid {worker.pid}</td>
              <td data-name="Started"><When at={worker.startedAt} /></td>
              <td data-name="Seen"><When at={worker.seenAt} /></td>
              <td data-name="Serves" className="wide">{worker.serves.length === 0 ? <Text span size="sm" c="dimmed">no items: a producer, it splits runs</Text> : worker.serves.map((name) => <span key={name} className="label"><Visible text={name} /></span>)}</td>
              <td data-name="Items" className="nums">{number(worker.leases)}</td>
              <td data-name="Build"><code>{worker.build.slice(0, 10)}</code></td>
            </tr>
          ))}</tbody>
        </table>
      )}
    </section>
  )
}

function Queues({ queues }: Pick<Fleet, 'queues'>) {
  return (
    <section aria-label="Queues">
      <Title order={2} mb={6}>Queues</Title>
      {queues === null ? <Alert color="orange" p="xs">The queue’s store does not answer. Work goes on from the ledger when it is back; nothing is lost.</Alert>
      : queues.length === 0 ? <Text size="sm" c="dimmed">None yet: a queue appears with the first run of an agent’s version.</Text> : (
        <table className="rows">
          <thead><tr><th>Queue</th><th>Agent</th><th>Waiting</th><th>Active</th><th>Delayed</th><th>Failed</th></tr></thead>
          <tbody>{queues.map((queue) => (
            <tr key={queue.name} data-queue={queue.name}>
              <td data-name="Queue"><Anchor href={`${base}/queues/queue/${encodeURIComponent(queue.name)}`} inherit><Visible text={queue.name} /></Anchor></td>
              <td data-name="Agent">{queue.agent === null ? '–' : <span><Visible text={queue.agent} /> {queue.version}</span>}</td>
              <td data-name="Waiting" className="nums">{number(queue.waiting)}</td><td data-name="Active" className="nums">{number(queue.active)}</td>
              <td data-name="Delayed" className="nums">{number(queue.delayed)}</td><td data-name="Failed" className="nums">{number(queue.failed)}</td>
            </tr>
          ))}</tbody>
        </table>
      )}
    </section>
  )
}
