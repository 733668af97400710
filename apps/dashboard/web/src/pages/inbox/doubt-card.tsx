/** Did this call happen? What was sent, what is known, and from when a no is safe. */
import { Alert, Badge, Code, Group, Stack, Text, Textarea, Title } from '@mantine/core'
import type { InboxItem } from '@pawl/client/http'
import { useState } from 'react'
import { encode, omittedBytes, parseJson, PawlError } from '@pawl/core'
import { Value, Visible } from '../../ui/visible.tsx'
import { useNow } from '../../ui/when.tsx'
import { useWhole } from '../../ui/whole-action.tsx'
import { choicesOfDoubt } from './causes.ts'
import { DecisionForm, type Answered } from './decision-form.tsx'
import { ActionFacts, Evidence } from './facts.tsx'

export type DoubtEntry = Extract<InboxItem, { kind: 'in_doubt' }>

export function DoubtHead({ entry }: { readonly entry: DoubtEntry }) {
  const { shown: action, note } = useWhole(entry.action)
  const isThere = omittedBytes(action.args) === undefined
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Title order={2} className="break">Did <Visible text={action.tool} /> happen?</Title>
        <Badge variant="light" tt="none">{action.effect}</Badge>
      </Group>
      <Text size="sm">It was sent, its answer was lost, and no rule can find out what became of it. Look at the receiving system and say; until then nothing is sent.</Text>
      <ActionFacts action={action} />
      <div>
        <Text size="sm" fw={600} mb={4}>Arguments, as they were sent</Text>
        {isThere ? <Code block className="value" tabIndex={0} aria-label="Arguments, as they were sent" data-args><Visible text={encode(action.args, { what: 'arguments' })} /></Code> : <Value value={action.args} />}
      </div>
      <div>
        <Text size="sm" fw={600} mb={4}>Evidence so far</Text>
        <Evidence action={action} />
      </div>
      {note}
    </Stack>
  )
}

/** Counts down until every answer is taken. */
export function Wait({ entry: { action, answers, answerableAt } }: { readonly entry: DoubtEntry }) {
  const now = useNow()
  if (answers.length > 1 || action.appliedEvidence !== null) return null
  const left = answerableAt === null ? null : Math.ceil((answerableAt.getTime() - now) / 1_000)
  return (
    <Alert color="orange" variant="light" p="xs" role="status" data-wait>
      {left === null ? 'Until its wait is over' : left > 0 ? <>For <b className="nums">{left} s</b> more (until {answerableAt?.toISOString()})</> : 'From now on every answer is taken; a moment.'}
      {left !== null && left <= 0 ? '' : ' only “it happened” is taken: a late send could still follow a no.'}
    </Alert>
  )
}

export interface DoubtAnswered extends Answered {
  /** Undefined: nothing was returned, or it is known. */
  readonly result: unknown
}

export function DoubtAnswer({ entry, onAnswer }: { readonly entry: DoubtEntry; readonly onAnswer: (answer: DoubtAnswered) => Promise<void> }) {
  const [text, setText] = useState('')
  const isKnown = entry.action.appliedEvidence !== null
  const parsed = parse(text)
  const field = (choice: string) => choice === 'happened' && !isKnown && (
    <Textarea ml={30} label="What the call returned, as JSON" description="The agent goes on with it. Left empty, nothing was returned." placeholder='{ "ref": "…" }' autosize minRows={2} maxRows={12}
      value={text} onChange={(event) => setText(event.currentTarget.value)} error={parsed.error} styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }} spellCheck={false} />
  )
  return (
    <DecisionForm
      legend={`Your answer, about attempt ${entry.action.attempt} with ${entry.action.evidence.length === 0 ? 'no evidence' : `the evidence above`}`} choices={choicesOfDoubt(entry)} notePlaceholder="how you know"
      fieldsOf={field} isReady={(choice) => choice !== 'happened' || parsed.error === undefined}
      onAnswer={async (answer) => await onAnswer({ ...answer, result: answer.choice === 'happened' ? parsed.value : undefined })} />
  )
}

function parse(text: string): { readonly value?: unknown; readonly error?: string } {
  if (text.trim() === '') return {}
  try {
    return { value: parseJson(text, 'It') }
  } catch (error) {
    return { error: error instanceof PawlError ? error.message : 'is not JSON' }
  }
}
