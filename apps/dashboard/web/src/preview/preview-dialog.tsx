/** Before a verb: what it would do, as the producer says. Nothing starts without a yes to what is shown, in the state it was shown in. */
import { Button, Group, Loader, Modal, Stack, Text, TextInput } from '@mantine/core'
import type { Preview, Run } from '@pawl/client/http'
import { PawlError } from '@pawl/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../api.ts'
import { Problem, tellDone } from '../ui/problem.tsx'
import { number, plural, words } from '../words.ts'
import { verbTitle, type RunVerb } from './run-verbs.ts'

interface PreviewDialogProps {
  readonly run: Run
  readonly verb: RunVerb
  readonly onClose: () => void
}

export function PreviewDialog({ run, verb, onClose }: PreviewDialogProps) {
  const api = useApi()
  const queries = useQueryClient()
  const [reason, setReason] = useState('')
  const preview = useQuery({ queryKey: ['preview', run.id, verb], queryFn: () => ask(api, run.id, verb), staleTime: 0, gcTime: 0 })
  const act = useMutation({
    mutationFn: () => (verb === 'pause' ? api.pause(run.id) : api[verb](run.id, reason.trim() === '' ? {} : { reason: reason.trim() })),
    onSuccess: ({ status }) => {
      tellDone(`${verbTitle[verb]}: done. The run is ${words(status)}.`)
      void queries.invalidateQueries({ queryKey: ['run', run.id] })
      onClose()
    },
  })
  return (
    <Modal opened onClose={onClose} title={`${verbTitle[verb]} this run?`} size="lg" closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack gap="sm">
        {preview.error !== null && <Problem error={preview.error} onRetry={() => { void preview.refetch() }} />}
        {preview.isPending && <Group justify="center" p="lg"><Loader aria-label="Finding out what would happen" /></Group>}
        {verb === 'pause' && <Text size="sm">It stops at its next call boundaries; calls under way end as they will.</Text>}
        {preview.data !== undefined && preview.data !== null && <Counts preview={preview.data} />}
        {verb !== 'pause' && <TextInput label="Reason" description="Kept with the record of the run." value={reason} onChange={(event) => setReason(event.currentTarget.value)} maxLength={2_000} />}
        {act.error !== null && <Problem error={act.error} title="Not done" />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>Leave it</Button>
          <Button {...(verb === 'cancel' || verb === 'compensate' ? { color: 'red' } : {})} disabled={preview.data === undefined || preview.data?.isAllowed === false} loading={act.isPending} onClick={() => act.mutate()}>{verbTitle[verb]}</Button>
        </Group>
      </Stack>
    </Modal>
  )
}

/** Null: of `pause` there is nothing to find out. */
async function ask(api: ReturnType<typeof useApi>, runId: string, verb: RunVerb): Promise<Preview | null> {
  if (verb === 'pause') return null
  const preview = await api[verb](runId, { dryRun: true })
  if (!preview.dryRun) throw new PawlError('PRODUCER_ACTED', 'The producer acted when it was asked what it would do. Run both in the same version.', 'retry')
  return preview
}

function Counts({ preview }: { readonly preview: Preview }) {
  const lines = [
    [preview.items.again, 'go round again'], [preview.items.stopped, 'items are stopped'], [preview.items.kept, 'items are left as they are'], [preview.skipped, 'committed calls are skipped: their results are used'],
    [preview.calledAgain.length, 'calls are made again under their keys'], [preview.verified.length, 'calls are verified'], [preview.asked.length, 'calls are asked of a person'],
    [preview.undone.length, 'calls are undone, newest first'], [preview.residue.length, 'calls stand: nothing can take them back'],
  ] as const
  return (
    <>
      {!preview.isAllowed && <Text size="sm">Not possible: the run is {words(preview.status)}.</Text>}
      <Stack gap={2}>{lines.filter(([n]) => n > 0).map(([n, text]) => <Text key={text} size="sm"><b>{number(n)}</b> {text}</Text>)}</Stack>
      {preview.isCut && <Text size="xs" c="dimmed">Of each list {plural(1_000, 'call')} are counted at most.</Text>}
    </>
  )
}
