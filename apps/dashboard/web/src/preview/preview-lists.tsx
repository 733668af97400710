/** What a verb would do, with counts, and each call by name. */
import { Anchor, Code, SimpleGrid, Stack, Text } from '@mantine/core'
import type { Preview } from '@pawl/client/http'
import { Link } from 'react-router'
import { itemPath } from '../place.ts'
import { Status } from '../ui/status.tsx'
import { Visible } from '../ui/visible.tsx'
import { number } from '../words.ts'

type Listed = Preview['asked']

const lists = [
  ['calledAgain', 'Called again', 'under the same key'], ['verified', 'Verified', 'the receiver is asked, nothing is sent'], ['asked', 'Asked', 'a person decides, in the inbox'],
  ['undone', 'Undone', 'in this order'], ['residue', 'Residue', 'stands: nothing can take it back'],
] as const

/** Of each list; the rest is counted. */
const most = 100
const openUpTo = 10

export function PreviewLists({ preview }: { readonly preview: Preview }) {
  const { verb, items, skipped, counts } = preview
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="xs" data-preview={verb}>
        {verb === 'resume' ? <Count name="Items that go round again" n={items.again} /> : <Count name="Items that are stopped" n={items.stopped} />}
        <Count name="Items left as they are" n={items.kept} />
        {verb === 'resume' && <Count name="Committed calls skipped" n={skipped} />}
        {lists.map(([field, name]) => <Count key={field} name={name} n={counts[field]} />)}
      </SimpleGrid>
      {lists.map(([field, name, how]) => <Calls key={field} name={name} how={how} runId={preview.runId} calls={preview[field]} n={counts[field]} />)}
    </Stack>
  )
}

export function Count({ name, n }: { readonly name: string; readonly n: number }) {
  return <div data-count={name}><Text size="xs" c="dimmed">{name}</Text><Text fw={650} size="lg" className="nums" {...(n === 0 ? { c: 'dimmed' } : {})}>{number(n)}</Text></div>
}

function Calls({ name, how, runId, calls, n }: { readonly name: string; readonly how: string; readonly runId: string; readonly calls: Listed; readonly n: number }) {
  if (n === 0) return null
  return (
    <details open={n <= openUpTo}>
      <summary>{name}: {number(n)} <Text span size="sm" c="dimmed">{how}</Text></summary>
      <table className="rows">
        <thead><tr><th>Item</th><th>Tool</th><th className="wide">Key</th><th>Now</th><th>Why</th></tr></thead>
        <tbody>{calls.slice(0, most).map((call) => (
          <tr key={call.action}>
            <td data-name="Item"><Anchor component={Link} to={itemPath(runId, call.itemSeq)} inherit>{call.itemSeq}</Anchor></td>
            <td data-name="Tool"><Visible text={call.tool} /></td>
            <td data-name="Key" className="wide"><Code className="break"><Visible text={call.key} /></Code></td>
            <td data-name="Now"><Status name={call.status} /></td>
            <td data-name="Why">{call.why}</td>
          </tr>
        ))}</tbody>
      </table>
      {n > most && <Text size="sm" c="dimmed">The first {Math.min(most, calls.length)} of them.</Text>}
    </details>
  )
}
