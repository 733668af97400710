/** Every claim of the item: under which pins, by whom, and how it ended. A crash is an end, too. */
import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api.ts'
import { Empty } from '../../ui/empty.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Visible } from '../../ui/visible.tsx'
import { When } from '../../ui/when.tsx'
import { shortId } from '../../words.ts'

const everyMs = 2_000

export function AttemptsTable({ runId, seq }: { readonly runId: string; readonly seq: number }) {
  const api = useApi()
  const { data, error, refetch } = useQuery({ queryKey: ['attempts', runId, seq], queryFn: () => api.attempts(runId, seq), refetchInterval: everyMs })
  if (error !== null && data === undefined) return <Problem error={error} onRetry={() => { void refetch() }} />
  if (data === undefined) return null
  if (data.entries.length === 0) return <Empty sentence="Nobody has taken it up yet." />
  return (
    <table className="rows">
      <thead><tr><th>Attempt</th><th>Started</th><th>Worker</th><th>Version</th><th>Build</th><th>Model</th><th>Prompt</th><th>Ended</th></tr></thead>
      <tbody>{data.entries.map((attempt, i) => (
        <tr key={attempt.epoch} data-epoch={attempt.epoch}>
          <td data-name="Attempt">{i + 1}</td>
          <td data-name="Started"><When at={attempt.startedAt} /></td>
          <td data-name="Worker"><code>{shortId(attempt.workerId)}</code></td>
          <td data-name="Version"><Visible text={attempt.agentVersion} /></td>
          <td data-name="Build"><Visible text={attempt.build ?? '–'} /></td>
          <td data-name="Model"><Visible text={attempt.modelVersion ?? '–'} /></td>
          <td data-name="Prompt"><Visible text={attempt.promptVersion ?? '–'} /></td>
          <td data-name="Ended">{attempt.ended === null ? <Text span size="sm" className="tone-text" data-tone="busy">at work</Text> : <Ended how={attempt.ended} />}</td>
        </tr>
      ))}</tbody>
    </table>
  )
}

function Ended({ how }: { readonly how: string }) {
  const isCrash = /crash|lost|died|gone/.test(how)
  return <Text span size="sm" className={isCrash ? 'tone-text' : undefined} data-tone={isCrash ? 'bad' : undefined} fw={isCrash ? 600 : undefined}><Visible text={how.replaceAll('_', ' ')} /></Text>
}
