/** What is known of a call: the same words in the inbox, beside a decision, and on the item's page. */
import { Code, Stack, Text } from '@mantine/core'
import type { Action } from '@pawl/client/http'
import { omittedBytes } from '@pawl/core'
import type { ReactNode } from 'react'
import { Value, Visible } from '../../ui/visible.tsx'
import { When } from '../../ui/when.tsx'
import { plural } from '../../words.ts'

export function Facts({ children }: { readonly children: ReactNode }) {
  return <dl className="call-facts">{children}</dl>
}

export function Fact({ name, isWide = false, children }: { readonly name: string; readonly isWide?: boolean; readonly children: ReactNode }) {
  return <div data-wide={isWide || undefined}><dt>{name}</dt><dd>{children}</dd></div>
}

export function KeyFact({ value, name = 'Key' }: { readonly value: string; readonly name?: string }) {
  return <Fact name={name} isWide><Code className="break"><Visible text={value} /></Code></Fact>
}

const times = (n: number): string => (n === 0 ? 'not sent' : n === 1 ? 'sent once' : `sent ${n} times`)

export function ActionFacts({ action }: { readonly action: Action }) {
  return (
    <Facts>
      <KeyFact value={action.key} />
      <Fact name="Attempt">{action.attempt}, {times(action.sends)}{action.refused === 0 ? '' : `, ${action.refused} proved not applied`}</Fact>
      <Fact name="Started"><When at={action.startedAt} /></Fact>
      {action.committedAt !== null && <Fact name="Committed"><When at={action.committedAt} /></Fact>}
      {action.keyExpiresAt !== null && <Fact name="Key known until"><When at={action.keyExpiresAt} /></Fact>}
      {action.settledBy !== null && <Fact name="Settled by"><Visible text={action.settledBy} /></Fact>}
      {action.error !== null && <Fact name="Error"><span className="tone-text" data-tone="bad"><Visible text={`${action.error.code ?? action.error.name}: ${action.error.message}`} /></span></Fact>}
    </Facts>
  )
}

/** What earlier holders brought, oldest first. */
export function Evidence({ action }: { readonly action: Action }) {
  if (action.evidence.length === 0 && action.appliedEvidence === null) return <Text size="sm" c="dimmed">No evidence so far.</Text>
  const there = action.evidence.filter((entry) => omittedBytes(entry) === undefined)
  const away = action.evidence.length - there.length
  return (
    <Stack gap={6}>
      {action.appliedEvidence !== null && <>
        <Text size="sm">Its result came too late to be recorded by its holder, and proves that it happened:</Text>
        <Value value={action.appliedEvidence} />
      </>}
      {there.map((entry, i) => <Value key={i} value={entry} />)}
      {away > 0 && <Text size="sm" c="dimmed">{plural(away, 'entry', 'entries')} left out here</Text>}
    </Stack>
  )
}
