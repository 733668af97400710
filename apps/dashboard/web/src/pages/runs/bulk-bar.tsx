/** One verb for the chosen runs: first what it would do to each, then a record of what it did. */
import { Button, Group, Loader, Modal, Paper, Stack, Text, TextInput } from '@mantine/core'
import type { PawlClient, Run } from '@pawl/client/http'
import { newId, PawlError } from '@pawl/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../api.ts'
import { NotAsShown } from '../../preview/confirm.tsx'
import { againMs, usePreview } from '../../preview/use-preview.ts'
import { Problem } from '../../ui/problem.tsx'
import { plural } from '../../words.ts'
import { isPossible, isSameForAll, previewAll, sumOf, type BulkVerb } from './bulk-preview.ts'
import { BulkTable } from './bulk-table.tsx'

const VERBS = ['pause', 'resume', 'cancel'] as const satisfies readonly BulkVerb[]
/** Each look asks about every run: of so many as often as of one alone, of more less often. */
const runsPerLook = 10
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

type BulkRequest = Parameters<PawlClient['bulk']>[0]

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
  const { preview: data, error, refetch, isOther, onlyAsShown } = usePreview({
    queryKey: [verb, runIds], look: () => previewAll(api, verb, runs), isSame: isSameForAll, everyMs: againMs * Math.ceil(runs.length / runsPerLook),
  })
  // One key for one opened dialog: a click that is sent twice is one piece of work.
  const [key] = useState(newId)
  /** Asked for, and without an answer: whether it was begun is found out by asking for the very same again. */
  const [unanswered, setUnanswered] = useState<BulkRequest>()
  const send = (request: BulkRequest) => {
    setUnanswered(request)
    return api.bulk(request, { idempotencyKey: key })
  }
  const start = useMutation({
    mutationFn: () => (unanswered !== undefined ? send(unanswered)
      : onlyAsShown((now) => send({ verb, runIds: now.filter(isPossible).map(({ run }) => run.id), ...(reason.trim() === '' ? {} : { reason: reason.trim() }) }))),
    onSuccess: (started) => { if (started !== undefined) onStarted(started.id) },
    onError: (refusal) => { if (refusal instanceof PawlError && refusal.next !== 'retry') setUnanswered(undefined) },
  })
  if (error !== null) return <Problem error={error} onRetry={() => { void refetch() }} />
  if (data === undefined) return <Group justify="center" p="xl"><Loader aria-label="Finding out what would happen" /></Group>
  const possible = data.filter(isPossible)
  const count = unanswered?.runIds?.length ?? possible.length
  return (
    <Stack gap="sm">
      {isOther && <NotAsShown who="runs have" />}
      <Text size="sm">{sumOf(verb, possible)}</Text>
      <BulkTable previews={data} />
      <TextInput size="sm" label="Reason" description="Kept with the record of each run." value={reason} onChange={(event) => setReason(event.currentTarget.value)} maxLength={2_000} />
      {start.error !== null && <Problem error={start.error} title="Not started" />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>Leave it</Button>
        <Button {...(verb === 'cancel' ? { color: 'red' } : {})} disabled={count === 0} loading={start.isPending} onClick={() => start.mutate()}>{title[verb]} {plural(count, 'run')}</Button>
      </Group>
    </Stack>
  )
}
