/** The items that are not the agent's work: what splits, finalizes, settles and undoes. Shown where they are not simply done. */
import { Anchor, Group, Paper, Text } from '@mantine/core'
import { ITEM_KINDS } from '@pawl/core'
import type { Item, Run } from '@pawl/client/http'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { useApi } from '../../api.ts'
import { itemPath } from '../../place.ts'
import { calmMs, liveMs } from '../../queries.ts'
import { Status } from '../../ui/status.tsx'
import { Visible } from '../../ui/visible.tsx'
import { When } from '../../ui/when.tsx'

const kinds = ITEM_KINDS.filter((kind) => kind !== 'work')

export function Finalizer({ run }: { readonly run: Run }) {
  const api = useApi()
  const isMoving = run.finishedAt === null
  const { data } = useQuery({
    queryKey: ['run', run.id, 'kinds'], refetchInterval: isMoving ? 2 * liveMs : calmMs,
    queryFn: async () => (await Promise.all(kinds.map(async (kind) => (await api.listItems(run.id, { kind, limit: 20 })).entries))).flat(),
  })
  if (data === undefined || data.length === 0) return null
  return <Paper withBorder p="xs" component="section" aria-label="Split, finalizer and compensation"><Group gap="lg">{data.map((item) => <One key={item.seq} runId={run.id} item={item} />)}</Group></Paper>
}

function One({ runId, item }: { readonly runId: string; readonly item: Item }) {
  return (
    <Text size="sm">
      <Anchor component={Link} to={itemPath(runId, item.seq)} size="sm">{item.kind === 'finalize' ? 'finalizer' : item.kind}</Anchor> <Status name={item.status} /> <Text span size="xs" c="dimmed"><When at={item.finishedAt ?? item.startedAt} /></Text>
      {item.error !== null && item.status !== 'done' && <Text span size="xs" className="tone-text" data-tone="bad"> <Visible text={`${item.error.code ?? item.error.name}: ${item.error.message}`.slice(0, 200)} /></Text>}
    </Text>
  )
}
