/** What the model is shown next, exactly: system text and messages, rebuilt from the record as the worker rebuilds them. */
import { Alert, Badge, Button, Code, Group, Stack, Text } from '@mantine/core'
import type { BriefView } from '@pawl/client/http'
import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api.ts'
import { Problem } from '../../ui/problem.tsx'
import { textOf, Visible } from '../../ui/visible.tsx'
import { number, plural } from '../../words.ts'

export function Brief({ runId, seq }: { readonly runId: string; readonly seq: number }) {
  const api = useApi()
  // Not by itself: of an item at work it is another one every moment, and somebody reads.
  const { data: brief, error, refetch, isFetching } = useQuery({ queryKey: ['brief', runId, seq], queryFn: () => api.brief(runId, seq), refetchOnWindowFocus: false, gcTime: 0 })
  if (error !== null && brief === undefined) return <Problem error={error} onRetry={() => { void refetch() }} />
  if (brief === undefined) return null
  return (
    <Stack gap="sm">
      <Group justify="space-between" gap="sm">
        <Text size="sm">What the model is shown next: about {number(brief.tokens)} of {number(brief.budget)} tokens.{brief.turnsDigested === 0 ? '' : ` ${plural(brief.turnsDigested, 'turn')} told by one line per call.`}</Text>
        <Button size="xs" variant="default" loading={isFetching} onClick={() => { void refetch() }}>Rebuild it now</Button>
      </Group>
      {brief.isOver && <Alert color="orange" p="xs">What is done and open alone takes more than the budget; nothing of it was left out.</Alert>}
      {!brief.hasInstructions && <Alert color="gray" p="xs">The agent’s own instructions are not known to this producer; what stands below under “system” is what Pawl adds to them.</Alert>}
      <Part speaker="system" text={brief.system} />
      {brief.messages.map((message, i) => <Message key={i} message={message} />)}
    </Stack>
  )
}

function Message({ message }: { readonly message: BriefView['messages'][number] }) {
  if (message.role === 'user') return <Part speaker="user" text={message.content} />
  if (message.role === 'tool') return <>{message.content.map((part, i) => <Part key={i} speaker="tool" note={`${part.toolName}${part.output.type === 'error-text' ? ', an error' : ''}`} text={part.output.value} />)}</>
  return <>{message.content.map((part, i) => (part.type === 'tool-call'
    ? <Part key={i} speaker="assistant" note={`calls ${part.toolName}`} text={textOf(part.input)} />
    : <Part key={i} speaker="assistant" note={part.type === 'reasoning' ? 'reasoning' : undefined} text={part.text} />))}</>
}

function Part({ speaker, note, text }: { readonly speaker: string; readonly note?: string | undefined; readonly text: string }) {
  return (
    <div data-role={speaker}>
      <Group gap="xs" mb={4}><Badge variant="light" {...(speaker === 'system' ? { color: 'gray' } : {})} tt="none">{speaker}</Badge>{note !== undefined && <Text size="sm" c="dimmed"><Visible text={note} /></Text>}</Group>
      <Code block className="value" tabIndex={0} aria-label={`What the ${speaker} says`}><Visible text={text} /></Code>
    </div>
  )
}
