/** What the item's model decided, turn by turn, as it was recorded before anything of it was sent. */
import { Badge, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { z } from 'zod'
import { useApi } from '../../api.ts'
import { Empty } from '../../ui/empty.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Value, Visible } from '../../ui/visible.tsx'
import { When } from '../../ui/when.tsx'
import { number } from '../../words.ts'

const everyMs = 2_000
const microsPerUnit = 1_000_000

/** What can be shown better than as JSON; anything else is shown as that. */
const decisionSchema = z.looseObject({
  text: z.string().optional(),
  calls: z.array(z.looseObject({ name: z.string().optional(), tool: z.string().optional(), input: z.unknown(), refusal: z.string().optional() })).optional(),
})

export function TurnsList({ runId, seq }: { readonly runId: string; readonly seq: number }) {
  const api = useApi()
  const { data, error, refetch } = useQuery({ queryKey: ['turns', runId, seq], queryFn: () => api.turns(runId, seq), refetchInterval: everyMs })
  if (error !== null && data === undefined) return <Problem error={error} onRetry={() => { void refetch() }} />
  if (data === undefined) return null
  if (data.entries.length === 0) return <Empty sentence="No model has decided anything here: the agent’s code does, or it has not begun." />
  return (
    <Stack gap="sm">
      {data.entries.map((turn) => (
        <Paper key={turn.n} withBorder p="md" component="article" data-turn={turn.n}>
          <Group gap="xs" mb={6}>
            <Title order={3}>Turn {turn.n}</Title>
            <Text size="sm" c="dimmed"><Visible text={turn.modelVersion} />, {number(turn.inputTokens)} + {number(turn.outputTokens)} tokens{turn.costMicros === 0 ? '' : `, ${(turn.costMicros / microsPerUnit).toFixed(4)}`}, <When at={turn.at} /></Text>
          </Group>
          <Decision decision={turn.decision} />
        </Paper>
      ))}
    </Stack>
  )
}

function Decision({ decision }: { readonly decision: unknown }) {
  const parsed = decisionSchema.safeParse(decision)
  if (!parsed.success) return <Value value={decision} />
  const { text = '', calls = [] } = parsed.data
  return (
    <Stack gap="xs">
      {text !== '' && <Text size="sm" className="break" style={{ whiteSpace: 'pre-wrap' }}><Visible text={text} /></Text>}
      {calls.map((call, i) => (
        <div key={i}>
          <Group gap="xs" mb={4}><Text size="sm" fw={600}><Visible text={call.tool ?? call.name ?? 'a call'} /></Text>{call.refusal !== undefined && <Badge color="orange" variant="light" tt="none">refused</Badge>}</Group>
          {call.refusal !== undefined && <Text size="sm" className="break"><Visible text={call.refusal} /></Text>}
          <Value value={call.input} />
        </div>
      ))}
      <details><summary>The whole decision</summary><Value value={decision} /></details>
    </Stack>
  )
}
