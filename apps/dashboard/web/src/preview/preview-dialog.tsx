/**
 * Nothing of weight is begun from the pages without this: what the verb would do, found out by a dry run that is repeated while the dialog is open. If the
 * run came into another state between the look and the yes, nothing is done and the new preview is shown.
 */
import { Alert, Group, Loader, Modal, Stack, Text, TextInput } from '@mantine/core'
import type { Run } from '@pawl/client/http'
import { useState } from 'react'
import { useApi } from '../api.ts'
import { Problem } from '../ui/problem.tsx'
import { plural, words } from '../words.ts'
import { isSameState, previewIn } from './as-shown.ts'
import { Confirm, NotAsShown } from './confirm.tsx'
import { Count, PreviewLists } from './preview-lists.tsx'
import { verbTitle, type RunVerb } from './run-verbs.ts'
import { usePreview } from './use-preview.ts'
import { verbWords } from './verb-words.ts'

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
      <Confirm runId={run.id} {...verbWords.pause} onClose={onClose} act={async () => { await api.pause(run.id); return 'The run pauses.' }} />
    </>
  )
}

function PreviewBody({ run, verb, onClose }: { readonly run: Run; readonly verb: Exclude<RunVerb, 'pause'>; readonly onClose: () => void }) {
  const api = useApi()
  const [reason, setReason] = useState('')
  const { preview, error, refetch, isOther, onlyAsShown } = usePreview({ queryKey: [run.id, verb], look: async () => previewIn(await api[verb](run.id, { dryRun: true })), isSame: isSameState })
  if (error !== null) return <Problem error={error} onRetry={() => { void refetch() }} />
  if (preview === undefined) return <Loader size="sm" aria-label="Finding out what would happen" />
  if (!preview.isAllowed) return <Alert color="orange" role="status">A run that is {words(preview.status)} takes no {verb}.</Alert>
  return (
    <>
      {isOther && <NotAsShown />}
      <PreviewLists preview={preview} />
      {verb !== 'resume' && <TextInput label="Reason, for the record" placeholder="optional" value={reason} maxLength={1_900} onChange={(event) => setReason(event.currentTarget.value)} />}
      <Confirm runId={run.id} {...verbWords[verb]} onClose={onClose} act={() => onlyAsShown(async () => {
        const answer = await api[verb](run.id, { reason: reason.trim() === '' ? undefined : reason })
        const again = !answer.dryRun && answer.reopened !== undefined && answer.reopened > 0 ? ` ${plural(answer.reopened, 'item')} go round again.` : ''
        return `${verbTitle[verb]}: done. The run is ${words(answer.status)}.${again}`
      })} />
    </>
  )
}
