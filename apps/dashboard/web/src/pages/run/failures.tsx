/** What failed or waits, by reason: ten thousand failures are mostly three reasons. */
import { Anchor, Paper, Stack, Text, Title } from '@mantine/core'
import type { Run } from '@pawl/client/http'
import { isEndedRun } from '@pawl/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { useApi } from '../../api.ts'
import { itemPath } from '../../place.ts'
import { calmMs, liveMs } from '../../queries.ts'
import { Status } from '../../ui/status.tsx'
import { Visible } from '../../ui/visible.tsx'
import { number, words } from '../../words.ts'

const shown = 12

export function Failures({ run }: { readonly run: Run }) {
  const api = useApi()
  const isClean = run.tally.failed + run.tally.blocked === 0
  const { data } = useQuery({ queryKey: ['run', run.id, 'failures'], queryFn: () => api.failures(run.id), enabled: !isClean, refetchInterval: isEndedRun(run.status) ? calmMs : 2 * liveMs })
  const groups = isClean ? [] : (data?.groups ?? [])
  return (
    <Paper withBorder p="md" component="section" aria-label="What failed or waits">
      <Title order={2} mb="xs">What failed or waits</Title>
      {isClean && <Text size="sm" c="dimmed">Nothing.</Text>}
      <Stack gap={8}>
        {groups.slice(0, shown).map((group) => (
          <div key={`${group.status} ${group.reason} ${group.message}`}>
            <Text size="sm" className="break"><b className="nums">{number(group.count)}</b> <Status name={group.status} label={words(group.status === 'blocked' ? group.reason : group.status)} /> {group.status !== 'blocked' && <b><Visible text={group.reason} />: </b>}<Visible text={group.message.slice(0, 300)} /></Text>
            <Text size="xs" c="dimmed">{group.seqs.map((seq, i) => <span key={seq}>{i === 0 ? 'items ' : ', '}<Anchor component={Link} to={itemPath(run.id, seq)} size="xs">{seq}</Anchor></span>)}{group.count > group.seqs.length && ' …'}</Text>
          </div>
        ))}
        {groups.length > shown && <Text size="xs" c="dimmed">and {number(groups.length - shown)} more reasons</Text>}
      </Stack>
    </Paper>
  )
}
