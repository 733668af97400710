/** What the agents may do to the world, and what of it can be taken back. */
import { Badge, Group, Loader, Paper, Stack, Text, TextInput, Title } from '@mantine/core'
import type { Tools } from '@pawl/client/http'
import { useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'react-router'
import { useApi } from '../../api.ts'
import { calmMs } from '../../queries.ts'
import { Empty } from '../../ui/empty.tsx'
import { Page } from '../../ui/page.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Visible } from '../../ui/visible.tsx'
import { lasted, plural } from '../../words.ts'

type Agent = Tools['agents'][number]
type Tool = Agent['tools'][number]

/** What becomes of a call whose worker died in the middle of it. */
const settles: Readonly<Record<Tool['effect'], (tool: Tool) => string>> = {
  read: () => 'runs again',
  idempotent: (tool) => (tool.keyWindowMs === null ? 'called again under its key' : `called again under its key for ${lasted(tool.keyWindowMs)}, then ${tool.verify ? 'verified' : 'a person is asked'}`),
  transactional: () => 'its row tells',
  'non-idempotent': (tool) => (tool.verify ? 'verified: the receiver is asked' : 'a person is asked'),
}

export function Component() {
  const api = useApi()
  const [search, setSearch] = useSearchParams()
  const find = search.get('find') ?? ''
  const { data, error, refetch } = useQuery({ queryKey: ['tools'], queryFn: () => api.tools(), refetchInterval: calmMs * 6 })
  const agents = (data?.agents ?? []).map((agent) => ({ ...agent, tools: agent.tools.filter((tool) => `${agent.agent} ${tool.name} ${tool.effect} ${tool.description}`.toLowerCase().includes(find.toLowerCase())) })).filter(({ tools }) => find === '' || tools.length > 0)
  return (
    <Page title="Tools" actions={<TextInput data-search aria-label="Search the tools" placeholder="Search" value={find} onChange={(event) => setSearch(event.currentTarget.value === '' ? {} : { find: event.currentTarget.value }, { replace: true })} />}>
      {error !== null && data === undefined && <Problem error={error} onRetry={() => { void refetch() }} />}
      {error === null && data === undefined && <Loader size="sm" aria-label="Loading" />}
      {data !== undefined && data.agents.length === 0 && <Empty sentence="The producer was given no agents, so it knows no tools. Name your pawl.config for it; or list them from there:" command="npx pawl tools" />}
      {data !== undefined && data.agents.length > 0 && agents.length === 0 && <Text c="dimmed">No tool is called that.</Text>}
      <Stack gap="lg">{agents.map((agent) => <AgentTools key={`${agent.agent}@${agent.version}`} agent={agent} />)}</Stack>
    </Page>
  )
}

function AgentTools({ agent }: { readonly agent: Agent }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={`${agent.agent} ${agent.version}`}>
      <Group gap="sm" mb="xs">
        <Title order={2}><Visible text={agent.agent} /> <Text span c="dimmed" inherit>{agent.version}</Text></Title>
        <Text size="sm" c="dimmed">{plural(agent.tools.length, 'tool')}{agent.serves.length === 0 ? '' : `, serves ${agent.serves.join(', ')} too`}{agent.modelVersion === null ? '' : `, model ${agent.modelVersion}`}{agent.promptVersion === null ? '' : `, prompt ${agent.promptVersion}`}</Text>
      </Group>
      <table className="rows">
        <thead><tr><th>Tool</th><th>Effect</th><th>After a crash</th><th>Key</th><th>Taken back by</th><th>Asked first</th><th>Waits</th></tr></thead>
        <tbody>{agent.tools.map((tool) => (
          <tr key={`${tool.name}@${tool.version}`} data-tool={tool.name}>
            <td data-name="Tool"><ToolName tool={tool} /></td>
            <td data-name="Effect"><span>{tool.effect}{tool.stage && <> <Badge size="sm" variant="light" color="gray" tt="none">held back to the end</Badge></>}</span></td>
            <td data-name="After a crash">{settles[tool.effect](tool)}</td>
            <td data-name="Key">{tool.key}</td>
            <td data-name="Taken back by">{tool.undo !== null ? <Visible text={tool.undo} /> : tool.effect === 'read' ? <Text span size="sm" c="dimmed">nothing to take back</Text> : <Text span size="sm" className="tone-text" data-tone={tool.irreversible ? 'bad' : 'warn'} fw={600}>{tool.irreversible ? 'nothing, ever' : 'nothing'}</Text>}</td>
            <td data-name="Asked first">{tool.approval}</td>
            <td data-name="Waits">{lasted(tool.timeoutMs)}{tool.settleWindowMs > 0 && `, visible within ${lasted(tool.settleWindowMs)}`}</td>
          </tr>
        ))}</tbody>
      </table>
    </Paper>
  )
}

function ToolName({ tool }: { readonly tool: Tool }) {
  return <span><b><Visible text={tool.name} /></b> <Text span size="sm" c="dimmed">{tool.version}</Text><br /><Text span size="sm" c="dimmed"><Visible text={tool.description} /></Text></span>
}
