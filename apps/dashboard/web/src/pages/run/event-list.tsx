/** The audit of a run, newest first. */
import { Anchor, Code, Text } from '@mantine/core'
import { Link } from 'react-router'
import { itemPath } from '../../place.ts'
import { Empty } from '../../ui/empty.tsx'
import { Visible } from '../../ui/visible.tsx'
import { When } from '../../ui/when.tsx'
import type { Events } from './use-events.ts'

export function EventList({ runId, events, isStreaming }: Events & { readonly runId: string }) {
  if (events.length === 0) return <Empty sentence="No event is known yet." />
  return (
    <>
      <Text size="xs" c="dimmed" mb={4}>{isStreaming ? 'As they happen' : 'Asked for every few seconds'}; the newest {events.length} of them. The export has all.</Text>
      <table className="rows">
        <thead><tr><th>When</th><th>What</th><th>Item</th><th>By</th><th className="wide">With</th></tr></thead>
        <tbody>
          {events.toReversed().map((event) => (
            <tr key={event.id}>
              <td data-name="When"><When at={event.at} /></td>
              <td data-name="What"><b>{event.kind}</b></td>
              <td data-name="Item">{event.itemSeq !== null && <Anchor component={Link} to={itemPath(runId, event.itemSeq)} size="sm">{event.itemSeq}</Anchor>}</td>
              <td data-name="By"><Visible text={event.actor} /></td>
              <td data-name="With" className="wide"><Code className="break"><Visible text={JSON.stringify(event.data).slice(0, 600)} /></Code></td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}
