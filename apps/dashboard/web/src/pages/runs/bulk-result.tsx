/** How far a piece of bulk work is, and what became of each run. It goes on in the producer whether or not anybody looks. */
import { Anchor, CloseButton, Group, Paper, Progress, ScrollArea, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { useApi } from '../../api.ts'
import { runPath } from '../../place.ts'
import { liveMs } from '../../queries.ts'
import { Problem } from '../../ui/problem.tsx'
import { Visible } from '../../ui/visible.tsx'
import { When } from '../../ui/when.tsx'
import { number, shortId, words } from '../../words.ts'

export function BulkResult({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const api = useApi()
  const { data: work, error, refetch } = useQuery({
    queryKey: ['bulk', id], queryFn: () => api.bulkStatus(id),
    refetchInterval: ({ state }) => (state.data !== undefined && state.data.done + state.data.failed >= state.data.total ? false : liveMs),
  })
  if (error !== null && work === undefined) return <Problem error={error} onRetry={() => { void refetch() }} />
  if (work === undefined) return null
  const share = (n: number): number => (work.total === 0 ? 100 : (n / work.total) * 100)
  return (
    <Paper withBorder p="sm" role="region" aria-label="Bulk work">
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm"><b>{work.verb}</b> of {number(work.total)} runs, by <Visible text={work.by} />, <When at={work.createdAt} />: {number(work.done)} done, {number(work.failed)} refused</Text>
        <CloseButton aria-label="Close" onClick={onClose} />
      </Group>
      <Progress.Root my="xs" aria-label={`${number(work.done + work.failed)} of ${number(work.total)}`}>
        <Progress.Section value={share(work.done)} color="var(--pawl-good)" aria-label="done" />
        <Progress.Section value={share(work.failed)} color="var(--pawl-bad)" aria-label="refused" />
      </Progress.Root>
      <ScrollArea.Autosize mah={220}>
        <table className="rows">
          <tbody>
            {work.entries.map(({ runId, outcome, detail }) => (
              <tr key={runId}>
                <td data-name="Run"><Anchor component={Link} to={runPath(runId)} size="sm" title={runId}>{shortId(runId)}</Anchor></td>
                <td data-name="Outcome">{words(outcome === 'open' ? 'to come' : outcome)}</td>
                <td data-name="Detail" className="wide">{detail !== null && <Visible text={detail} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollArea.Autosize>
    </Paper>
  )
}
