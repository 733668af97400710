/** One verb for the chosen runs: first what it would do to each, then a record of what it did. */
import { Button, Group, Loader, Modal, Paper, Stack, Text, TextInput } from '@mantine/core'
import type { Run } from '@pawl/client/http'
import { newId } from '@pawl/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../api.ts'
import { Problem } from '../../ui/problem.tsx'
import { plural } from '../../words.ts'
import { previewAll, sumOf, type BulkVerb, type RunPreview } from './bulk-preview.ts'
import { BulkTable } from './bulk-table.tsx'

const VERBS = ['pause', 'resume', 'cancel'] as const satisfies readonly BulkVerb[]
const title: Readonly<Record<BulkVerb, string>> = { pause: 'Pause', resume: 'Resume', cancel: 'Cancel' }

interface BulkBarProps {
  readonly runs: readonly Run[]
  readonly onClear: () => void
  /** With the id of the record that says how far it is. */
  readonly onStarted: (id: string) => void
}

export function BulkBar({ runs, onClear, onStarted }: BulkBarProps) {
  const [verb, setVerb] = useState<BulkVerb | null>(null)
  return (
    <Paper withBorder p="xs" pos="sticky" top={60} style={{ zIndex: 20 }} role="region" aria-label="Chosen runs">
      <Group gap="xs">
        <Text size="sm" fw={600}>{plural(runs.length, 'run')} chosen</Text>
        {VERBS.map((each) => <Button key={each} size="xs" {...(each === 'cancel' ? { variant: 'light', color: 'red' } : { variant: 'default' })} onClick={() => setVerb(each)}>{title[each]}…</Button>)}
        <Button size="xs" variant="subtle" onClick={onClear}>Choose none</Button>
      </Group>
      <Modal opened={verb !== null} onClose={() => setVerb(null)} size="xl" title={verb === null ? '' : `${title[verb]} ${plural(runs.length, 'run')}`}>
        {verb !== null && <Preview verb={verb} runs={runs} onStarted={(id) => { setVerb(null); onStarted(id) }} onClose={() => setVerb(null)} />}
      </Modal>
    </Paper>
  )
}

interface PreviewProps {
  readonly verb: BulkVerb
  readonly runs: readonly Run[]
  readonly onStarted: (id: string) => void
  readonly onClose: () => void
}

function Preview({ verb, runs, onStarted, onClose }: PreviewProps) {
  const api = useApi()
  const [reason, setReason] = useState('')
  const runIds = runs.map(({ id }) => id)
  const { data, error, refetch } = useQuery({ queryKey: ['bulk-preview', verb, runIds], queryFn: () => previewAll(api, verb, runs), staleTime: 0, gcTime: 0 })
  // One key for one opened dialog: a click that is sent twice is one piece of work.
  const [key] = useState(newId)
  const start = useMutation({
    mutationFn: (chosen: readonly RunPreview[]) => api.bulk({ verb, runIds: chosen.map(({ run }) => run.id), ...(reason.trim() === '' ? {} : { reason: reason.trim() }) }, { idempotencyKey: key }),
    onSuccess: ({ id }) => onStarted(id),
  })
  if (error !== null) return <Problem error={error} onRetry={() => { void refetch() }} />
  if (data === undefined) return <Group justify="center" p="xl"><Loader aria-label="Finding out what would happen" /></Group>
  const possible = data.filter(({ refusal }) => refusal === undefined)
  return (
    <Stack gap="sm">
      <Text size="sm">{sumOf(verb, possible)}</Text>
      <BulkTable previews={data} />
      {verb !== 'pause' && <TextInput size="sm" label="Reason" description="Kept with the record of each run." value={reason} onChange={(event) => setReason(event.currentTarget.value)} maxLength={2_000} />}
      {start.error !== null && <Problem error={start.error} title="Not started" />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>Leave it</Button>
        <Button {...(verb === 'cancel' ? { color: 'red' } : {})} disabled={possible.length === 0} loading={start.isPending} onClick={() => start.mutate(possible)}>{title[verb]} {plural(possible.length, 'run')}</Button>
      </Group>
    </Stack>
  )
}
