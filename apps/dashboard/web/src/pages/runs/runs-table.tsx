import { Anchor, Checkbox, Code, Group, Text, UnstyledButton } from '@mantine/core'
import type { Run } from '@pawl/client/http'
import { visibleText } from '@pawl/core'
import { Link } from 'react-router'
import { inboxPath, runPath } from '../../place.ts'
import { ProgressBar } from '../../ui/progress-bar.tsx'
import { Status } from '../../ui/status.tsx'
import { Visible } from '../../ui/visible.tsx'
import { When } from '../../ui/when.tsx'
import { number, shortId } from '../../words.ts'

interface RunsTableProps {
  readonly runs: readonly Run[]
  /** Undefined: whoever looks may not act. */
  readonly selected: ReadonlySet<string> | undefined
  readonly onSelect: (selected: ReadonlySet<string>) => void
  readonly onLabel: (label: string) => void
}

export function RunsTable({ runs, selected, onSelect, onLabel }: RunsTableProps) {
  const areAll = selected !== undefined && runs.every(({ id }) => selected.has(id))
  const toggle = (id: string): void => {
    const next = new Set(selected)
    if (!next.delete(id)) next.add(id)
    onSelect(next)
  }
  return (
    <table className="rows">
      <thead>
        <tr>
          {selected !== undefined && <th className="tick"><Checkbox size="xs" aria-label="All of the shown" checked={areAll} indeterminate={!areAll && selected.size > 0} onChange={() => onSelect(areAll ? new Set() : new Set(runs.map(({ id }) => id)))} /></th>}
          <th>Run</th><th>Status</th><th className="wide">Progress</th><th>Started by</th><th>Created</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => <Row key={run.id} run={run} isSelected={selected?.has(run.id)} onToggle={() => toggle(run.id)} onLabel={onLabel} />)}
      </tbody>
    </table>
  )
}

interface RowProps {
  readonly run: Run
  readonly isSelected: boolean | undefined
  readonly onToggle: () => void
  readonly onLabel: (label: string) => void
}

const labelsShown = 4

function Row({ run, isSelected, onToggle, onLabel }: RowProps) {
  const { tally, open } = run
  return (
    <tr data-selected={isSelected}>
      {isSelected !== undefined && <td className="tick"><Checkbox size="xs" aria-label={`Select run ${run.id}`} checked={isSelected} onChange={onToggle} /></td>}
      <td data-name="Run">
        <Anchor component={Link} to={runPath(run.id)} fw={600} className="break"><Visible text={run.agent} /><Text span c="dimmed" fw={400}>@<Visible text={run.agentVersion} /></Text></Anchor>
        <Group gap={6} mt={2}>
          <Code fz="xs" title={run.id}>{shortId(run.id)}</Code>
          {Object.entries(run.labels).slice(0, labelsShown).map(([name, value]) => (
            <UnstyledButton key={name} className="label" title="Only runs with this label" onClick={() => onLabel(`${name}:${value}`)}><Visible text={`${name}:${value}`} /></UnstyledButton>
          ))}
        </Group>
      </td>
      <td data-name="Status"><Group gap={4}><Status name={run.status} />{run.paused && <span className="state tone" data-tone="quiet">paused</span>}</Group></td>
      <td data-name="Progress" className="wide">
        <ProgressBar tally={tally} />
        <Text size="xs" mt={3} className="nums">
          {number(tally.done)} of {number(tally.total)} done
          {tally.failed > 0 && <> · <span className="tone-text" data-tone="bad">{number(tally.failed)} failed</span></>}
          {open.blocked > 0 && <> · <Anchor component={Link} to={inboxPath(run.id)} size="xs">{number(open.blocked)} blocked</Anchor></>}
        </Text>
      </td>
      <td data-name="Started by" title={visibleText(run.createdBy)}><Visible text={run.createdBy} /></td>
      <td data-name="Created"><When at={run.createdAt} /></td>
    </tr>
  )
}
