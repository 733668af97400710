/** What is on record of the run: pins, policy, who and when, what its models took. */
import { Anchor, Paper, Text, Title } from '@mantine/core'
import type { Run } from '@pawl/client/http'
import { visibleText } from '@pawl/core'
import { Link } from 'react-router'
import { Visible } from '../../ui/visible.tsx'
import { useNow, When } from '../../ui/when.tsx'
import { lasted } from '../../words.ts'
import { Fact } from './fact.tsx'
import { Spending } from './spending.tsx'

export function Facts({ run }: { readonly run: Run }) {
  return (
    <Paper withBorder p="md" component="section" aria-label="On record">
      <Title order={2} mb="xs">On record</Title>
      <dl className="facts">
        <Fact name="Created"><When at={run.createdAt} /> by <Visible text={run.createdBy} /></Fact>
        <Fact name="Started"><When at={run.startedAt} /></Fact>
        <Fact name="Ended">{run.finishedAt === null ? 'not yet' : <When at={run.finishedAt} />}</Fact>
        {run.startedAt !== null && <Fact name="Took"><Took from={run.startedAt} to={run.finishedAt} /></Fact>}
        <Fact name="Pins"><Pins run={run} /></Fact>
        <Spending run={run} />
        {run.ending > 1 && <Fact name="Sent round">{run.ending} times</Fact>}
        {Object.entries(run.policy).map(([name, value]) => <Fact key={name} name={name}><Visible text={typeof value === 'string' ? value : JSON.stringify(value)} /></Fact>)}
        {Object.entries(run.labels).map(([name, value]) => <Fact key={name} name={`label ${visibleText(name)}`}><Anchor component={Link} to={`/?label=${encodeURIComponent(`${name}:${value}`)}`} size="sm"><Visible text={value} /></Anchor></Fact>)}
        <Fact name="Namespace"><Visible text={run.namespace} /></Fact>
        {run.error !== null && <Fact name="Error"><Text span size="sm" className="tone-text" data-tone="bad"><Visible text={`${run.error.code ?? run.error.name}: ${run.error.message}`} /></Text></Fact>}
      </dl>
    </Paper>
  )
}

function Took({ from, to }: { readonly from: Date; readonly to: Date | null }) {
  const now = useNow()
  return <>{lasted(Math.max(1, (to?.getTime() ?? now) - from.getTime()))}</>
}

function Pins({ run }: { readonly run: Run }) {
  const pins = [['version', run.agentVersion], ['model', run.modelVersion], ['prompt', run.promptVersion], ['schema', String(run.schemaVersion)], ['lock', run.lockDigest?.slice(0, 12) ?? null]] as const
  return <>{pins.filter(([, value]) => value !== null).map(([name, value], i) => <span key={name}>{i > 0 && ' · '}{name} <b><Visible text={value ?? ''} /></b></span>)}</>
}
