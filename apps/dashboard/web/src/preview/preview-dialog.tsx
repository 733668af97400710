/**
 * Nothing of weight is begun from the pages without this: what the verb would do, found out by a dry run that is repeated while the dialog is open. If the
 * run came into another state between the look and the yes, nothing is done and the new preview is shown.
 */
import { Alert, Button, Group, Loader, Modal, Stack, Text, TextInput } from '@mantine/core'
import { PawlError } from '@pawl/core'
import type { PawlClient, Preview, Run } from '@pawl/client/http'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../api.ts'
import { Problem, tellDone } from '../ui/problem.tsx'
import { plural, words } from '../words.ts'
import { Count, PreviewLists } from './preview-lists.tsx'
import { verbTitle, type RunVerb } from './run-verbs.ts'
import { verbWords } from './verb-words.ts'

const againMs = 2_000

async function previewOf(api: PawlClient, verb: Exclude<RunVerb, 'pause'>, runId: string): Promise<Preview> {
  const preview = await api[verb](runId, { dryRun: true })
  if (!preview.dryRun) throw new PawlError('PRODUCER_ACTED', 'The producer acted when it was asked what it would do. Run both in the same version.', 'retry')
  return preview
}

const stateOf = (preview: Preview): string => `${preview.status} ${preview.isAllowed}`

interface PreviewDialogProps {
  readonly run: Run
  readonly verb: RunVerb
  readonly onClose: () => void
}

export function PreviewDialog({ run, verb, onClose }: PreviewDialogProps) {
  const { title, sentence } = verbWords[verb]
  return (
    <Modal opened onClose={onClose} size="xl" title={title} data-verb={verb}>
      <Stack gap="sm">
        <Text size="sm">{sentence}</Text>
        {verb === 'pause' ? <PauseBody run={run} onClose={onClose} /> : <PreviewBody run={run} verb={verb} onClose={onClose} />}
      </Stack>
    </Modal>
  )
}

function PauseBody({ run, onClose }: Omit<PreviewDialogProps, 'verb'>) {
  const api = useApi()
  return (
    <>
      <Group gap="xl"><Count name="In progress" n={run.tally.inProgress} /><Count name="Not begun" n={run.tally.pending} /><Count name="Done" n={run.tally.done} /></Group>
      <Confirm runId={run.id} verb="pause" onClose={onClose} act={async () => { await api.pause(run.id); return 'The run pauses.' }} />
    </>
  )
}

function PreviewBody({ run, verb, onClose }: { readonly run: Run; readonly verb: Exclude<RunVerb, 'pause'>; readonly onClose: () => void }) {
  const api = useApi()
  const [reason, setReason] = useState('')
  const [isOther, setOther] = useState(false)
  const { data: preview, error, refetch } = useQuery({ queryKey: ['preview', run.id, verb], queryFn: () => previewOf(api, verb, run.id), refetchInterval: againMs, gcTime: 0, staleTime: 0 })
  if (error !== null) return <Problem error={error} onRetry={() => { void refetch() }} />
  if (preview === undefined) return <Loader size="sm" aria-label="Finding out what would happen" />
  if (!preview.isAllowed) return <Alert color="orange" role="status">A run that is {words(preview.status)} takes no {verb}.</Alert>
  return (
    <>
      {isOther && <Alert color="orange" role="alert">Not done: the run has changed since you looked. This is what would happen now.</Alert>}
      <PreviewLists preview={preview} />
      {verb !== 'resume' && <TextInput label="Reason, for the record" placeholder="optional" value={reason} maxLength={1_900} onChange={(event) => setReason(event.currentTarget.value)} />}
      <Confirm runId={run.id} verb={verb} onClose={onClose} act={async () => {
        setOther(false)
        const now = await previewOf(api, verb, run.id)
        if (stateOf(now) !== stateOf(preview)) {
          setOther(true)
          await refetch()
          return undefined
        }
        const answer = await api[verb](run.id, { reason: reason.trim() === '' ? undefined : reason })
        const again = !answer.dryRun && answer.reopened !== undefined && answer.reopened > 0 ? ` ${plural(answer.reopened, 'item')} go round again.` : ''
        return `${verbTitle[verb]}: done. The run is ${words(answer.status)}.${again}`
      }} />
    </>
  )
}

interface ConfirmProps {
  readonly runId: string
  readonly verb: RunVerb
  readonly onClose: () => void
  /** What was done, in words; undefined: nothing was. */
  readonly act: () => Promise<string | undefined>
}

function Confirm({ runId, verb, onClose, act }: ConfirmProps) {
  const queries = useQueryClient()
  const [error, setError] = useState<unknown>()
  const [isActing, setActing] = useState(false)
  const { button, isEnding } = verbWords[verb]
  const go = async (): Promise<void> => {
    setActing(true)
    setError(undefined)
    try {
      const sentence = await act()
      if (sentence === undefined) return
      tellDone(sentence)
      onClose()
    } catch (refusal) {
      setError(refusal)
    } finally {
      setActing(false)
      void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey.includes(runId) })
    }
  }
  return (
    <>
      {error !== undefined && <Problem error={error} title="Not done" />}
      <Group>
        <Button {...(isEnding ? { color: 'red' } : {})} loading={isActing} onClick={() => { void go() }}>{button}</Button>
        <Button variant="default" onClick={onClose}>Leave it as it is</Button>
      </Group>
    </>
  )
}
