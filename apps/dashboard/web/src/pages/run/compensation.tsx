/** What was taken back, newest first, and what stands because nothing can take it back. */
import { Anchor, Stack, Text, Title } from '@mantine/core'
import type { Action, PawlClient, Run } from '@pawl/client/http'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { useApi } from '../../api.ts'
import { itemPath } from '../../place.ts'
import { calmMs, liveMs } from '../../queries.ts'
import { Problem } from '../../ui/problem.tsx'
import { Status } from '../../ui/status.tsx'
import { Visible } from '../../ui/visible.tsx'
import { When } from '../../ui/when.tsx'
import { plural } from '../../words.ts'

const most = 1_000

interface Undone {
  /** In the order of undoing. */
  readonly undoes: readonly Action[]
  readonly undone: ReadonlyMap<number, Action>
  readonly residue: readonly Action[]
  /** There may be more of it. */
  readonly isResidueCut: boolean
  readonly isCut: boolean
}

async function readUndone(api: PawlClient, runId: string): Promise<Undone> {
  const { entries: items } = await api.listItems(runId, { kind: 'compensate', limit: 20 })
  const [undoing, compensated, committed, abandoned] = await Promise.all([
    Promise.all(items.map(({ seq }) => api.listActions(runId, { itemSeq: seq, limit: most }))),
    api.listActions(runId, { status: 'compensated', limit: most }), api.listActions(runId, { status: 'committed', limit: most }), api.listActions(runId, { status: 'abandoned', limit: most }),
  ])
  return {
    undoes: undoing.flatMap(({ entries }) => entries).filter(({ undoes }) => undoes !== null),
    undone: new Map([...compensated.entries, ...committed.entries].map((action) => [action.id, action])),
    residue: [...committed.entries.filter(({ effect, undoes, undo }) => effect !== 'read' && undoes === null && (undo === null || undo === undefined)), ...abandoned.entries],
    isResidueCut: [committed, abandoned].some(({ cursor }) => cursor !== null),
    isCut: [...undoing, compensated, committed, abandoned].some(({ cursor }) => cursor !== null),
  }
}

export function Compensation({ run }: { readonly run: Run }) {
  const api = useApi()
  const { data, error, refetch } = useQuery({ queryKey: ['run', run.id, 'undone'], queryFn: () => readUndone(api, run.id), refetchInterval: run.status === 'compensating' ? 2 * liveMs : calmMs * 2 })
  if (error !== null && data === undefined) return <Problem error={error} onRetry={() => { void refetch() }} />
  if (data === undefined) return null
  return (
    <Stack>
      <section aria-label="Undone">
        <Title order={2} mb="xs">Undone, newest first</Title>
        {data.undoes.length === 0 ? <Text size="sm" c="dimmed">Nothing was undone yet.</Text> : (
          <table className="rows">
            <thead><tr><th>Undo</th><th>State</th><th>Of</th><th className="wide">Key</th><th>When</th></tr></thead>
            <tbody>{data.undoes.map((action) => <UndoRow key={action.id} runId={run.id} action={action} original={action.undoes === null ? undefined : data.undone.get(action.undoes)} />)}</tbody>
          </table>
        )}
      </section>
      <section aria-label="Residue">
        <Title order={2} mb="xs">Residue</Title>
        <Text size="sm" c="dimmed" mb="xs">{residueSaid(data)}</Text>
        {data.residue.length > 0 && (
          <table className="rows">
            <thead><tr><th>Item</th><th>Tool</th><th>State</th><th className="wide">Key</th></tr></thead>
            <tbody>{data.residue.map((action) => (
              <tr key={action.id}>
                <td data-name="Item"><Anchor component={Link} to={itemPath(run.id, action.itemSeq)} size="sm">{action.itemSeq}</Anchor></td>
                <td data-name="Tool"><Visible text={action.tool} /></td><td data-name="State"><Status name={action.status} /></td><td data-name="Key" className="wide"><Visible text={action.key} /></td>
              </tr>
            ))}</tbody>
          </table>
        )}
      </section>
      {data.isCut && <Text size="xs" c="dimmed">The first of each only; the export has all.</Text>}
    </Stack>
  )
}

function residueSaid({ residue: { length: n }, isResidueCut }: Undone): string {
  if (n === 0) return isResidueCut ? 'None among the first calls; there are more.' : 'None: everything that was done to the world was taken back.'
  return `${isResidueCut ? 'At least ' : ''}${plural(n, 'call')} that ${n === 1 ? 'stands' : 'stand'}: without an inverse, or abandoned.`
}

function UndoRow({ runId, action, original }: { readonly runId: string; readonly action: Action; readonly original: Action | undefined }) {
  return (
    <tr>
      <td data-name="Undo"><Visible text={action.tool} /></td>
      <td data-name="State"><Status name={action.status} /></td>
      <td data-name="Of">{original === undefined ? `action ${action.undoes}` : <><Visible text={original.tool} /> in <Anchor component={Link} to={itemPath(runId, original.itemSeq)} size="sm">item {original.itemSeq}</Anchor></>}</td>
      <td data-name="Key" className="wide"><Visible text={original?.key ?? action.key} /></td>
      <td data-name="When"><When at={action.committedAt ?? action.startedAt} /></td>
    </tr>
  )
}
