/** An item that waits for a reason no answer of another kind lifts. */
import { Anchor, Checkbox, Stack, Text, Title } from '@mantine/core'
import type { InboxItem } from '@pawl/client/http'
import { useState } from 'react'
import { Link } from 'react-router'
import { runPath } from '../../place.ts'
import { Value } from '../../ui/visible.tsx'
import { plural, reasons, words } from '../../words.ts'
import { choicesOfBlocked } from './causes.ts'
import { DecisionForm, type Answered } from './decision-form.tsx'

export type BlockedEntry = Extract<InboxItem, { kind: 'blocked' }>

export const isEmptyDetail = (detail: unknown): boolean => detail === null || detail === undefined || (typeof detail === 'object' && Object.keys(detail).length === 0)

export function BlockedHead({ entry }: { readonly entry: BlockedEntry }) {
  return (
    <Stack gap="xs">
      <Title order={2} className="first-upper">{words(entry.reason)}</Title>
      <Text size="sm">The item{entry.itemKind === 'work' ? '' : ` (${entry.itemKind})`} waits: {reasons[entry.reason]}. {plural(entry.attempts, 'attempt')}, {plural(entry.failures, 'failure')}.</Text>
      {!isEmptyDetail(entry.detail) && <div><Text size="sm" fw={600} mb={4}>What is known</Text><Value value={entry.detail} /></div>}
      {entry.reason === 'budget' && <Text size="sm">Raise the budget on <Anchor component={Link} to={runPath(entry.runId)} inherit>the run’s page</Anchor>; the item then goes on by itself.</Text>}
      {entry.reason === 'version' && <Text size="sm">Start a worker of that version, or move the run to another on <Anchor component={Link} to={runPath(entry.runId)} inherit>its page</Anchor>; the item then goes on by itself.</Text>}
    </Stack>
  )
}

export interface BlockedAnswered extends Answered {
  readonly newCalls: boolean
}

export function BlockedAnswer({ entry, onAnswer }: { readonly entry: BlockedEntry; readonly onAnswer: (answer: BlockedAnswered) => Promise<void> }) {
  const [areNew, setNew] = useState(false)
  const isDiverged = entry.reason === 'diverged'
  return (
    <DecisionForm legend="Your answer" choices={choicesOfBlocked(entry)} notePlaceholder="optional"
      fieldsOf={(choice) => isDiverged && choice === 'resume' && (
        <Checkbox ml={30} checked={areNew} onChange={(event) => setNew(event.currentTarget.checked)} label="What it asks for now are new calls"
          description="They are sent beside what the record holds. Without this the item blocks again, unless its code was mended meanwhile." />
      )}
      onAnswer={async (answer) => await onAnswer({ ...answer, newCalls: isDiverged && answer.choice === 'resume' && areNew })} />
  )
}
