import { ScrollArea, Text } from '@mantine/core'
import { Status } from '../../ui/status.tsx'
import { Visible } from '../../ui/visible.tsx'
import { number, shortId } from '../../words.ts'
import type { RunPreview } from './bulk-preview.ts'

export function BulkTable({ previews }: { readonly previews: readonly RunPreview[] }) {
  return (
    <ScrollArea.Autosize mah={360}>
      <table className="rows">
        <thead><tr><th>Run</th><th>Now</th><th>Again</th><th>Stopped</th><th>Called again</th><th>Verified</th><th>Asked</th></tr></thead>
        <tbody>
          {previews.map(({ run, preview, refusal }) => (
            <tr key={run.id}>
              <td data-name="Run"><Visible text={run.agent} /> <Text span size="xs" c="dimmed" title={run.id}>{shortId(run.id)}</Text></td>
              <td data-name="Now"><Status name={run.status} /></td>
              {refusal !== undefined
                ? <td data-name="Left alone" colSpan={5}><Text size="sm" c="dimmed">Left alone: {refusal}</Text></td>
                : ([['Again', preview?.items.again], ['Stopped', preview?.items.stopped], ['Called again', preview?.counts.calledAgain], ['Verified', preview?.counts.verified], ['Asked', preview?.counts.asked]] as const)
                  .map(([name, n]) => <td key={name} data-name={name} className="nums">{n === undefined ? '–' : number(n)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea.Autosize>
  )
}
