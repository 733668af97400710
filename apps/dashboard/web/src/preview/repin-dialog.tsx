/** Moves a run to another agent version: first what the new one would not recognise. */
import { Alert, Button, Checkbox, Group, Loader, Modal, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { visibleText } from '@pawl/core'
import type { RepinPreview, Run } from '@pawl/client/http'
import { useState } from 'react'
import { useApi } from '../api.ts'
import { Problem } from '../ui/problem.tsx'
import { Visible } from '../ui/visible.tsx'
import { plural } from '../words.ts'
import { isSameMove, previewIn } from './as-shown.ts'
import { Confirm, NotAsShown } from './confirm.tsx'
import { Count } from './preview-lists.tsx'
import { usePreview } from './use-preview.ts'

interface RepinDialogProps {
  readonly run: Run
  readonly onClose: () => void
}

export function RepinDialog({ run, onClose }: RepinDialogProps) {
  const [to, setTo] = useState('')
  const [force, setForce] = useState(false)
  /** What is typed is looked at, and shown until something else is typed. */
  const [isAsked, setAsked] = useState(false)
  return (
    <Modal opened onClose={onClose} size="xl" title="Move this run to another version?" data-verb="repin">
      <Stack gap="sm">
        <Text size="sm">It goes on under another version of <Visible text={run.agent} />, with that version’s model, prompt and tools. It is {run.agentVersion} now. What is in progress is handed back at its next call.</Text>
        <form onSubmit={(event) => { event.preventDefault(); setAsked(true) }}>
          <Group align="flex-end" gap="sm">
            <TextInput label="Version" data-autofocus required value={to} maxLength={40} onChange={(event) => { setTo(event.currentTarget.value); setAsked(false) }} />
            <Button type="submit" variant="default" disabled={to.trim() === ''}>Look what would happen</Button>
          </Group>
        </form>
        <Checkbox checked={force} label="Also to a version that nobody has now" description="The run then waits until a worker of it is started." onChange={(event) => { setForce(event.currentTarget.checked); setAsked(false) }} />
        {isAsked && <RepinBody run={run} to={to.trim()} force={force} onClose={onClose} />}
      </Stack>
    </Modal>
  )
}

function RepinBody({ run, to, force, onClose }: RepinDialogProps & { readonly to: string; readonly force: boolean }) {
  const api = useApi()
  const [reason, setReason] = useState('')
  const { preview, error, refetch, isOther, onlyAsShown } = usePreview({ queryKey: [run.id, 'repin', to, force], look: async () => previewIn(await api.repin(run.id, { to, force, dryRun: true })), isSame: isSameMove })
  if (error !== null) return <Problem error={error} onRetry={() => { void refetch() }} />
  if (preview === undefined) return <Loader size="sm" aria-label="Finding out what would happen" />
  return (
    <>
      {isOther && <NotAsShown />}
      <RepinLists preview={preview} />
      {preview.isAllowed && <>
        <TextInput label="Reason, for the record" placeholder="optional" value={reason} maxLength={1_900} onChange={(event) => setReason(event.currentTarget.value)} />
        <Confirm runId={run.id} button={`Move it to ${visibleText(preview.to.version)}`} onClose={onClose} act={() => onlyAsShown(async () => {
          const answer = await api.repin(run.id, { to, force, reason: reason.trim() === '' ? undefined : reason })
          return `The run goes on with version ${answer.to.version}${answer.dryRun ? '' : `; ${plural(answer.moved, 'item')} moved`}.`
        })} />
      </>}
    </>
  )
}

function RepinLists({ preview }: { readonly preview: RepinPreview }) {
  const { isAllowed, workers, isConfigured, live, inProgress, unserved, changedTools, from, to } = preview
  return (
    <Stack gap="sm">
      {!isAllowed && <Alert color="orange" role="status">It would be refused: {workers === 0 && !isConfigured ? `nobody has version ${visibleText(to.version)}. Start such workers first, or tick the box above.` : 'nothing of this run will ever run again.'}</Alert>}
      <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="xs" data-preview="repin">
        <Count name="Workers that have it" n={workers} /><Count name="Items not ended" n={live} /><Count name="Handed back at their next call" n={inProgress} />
        <Count name="Blocked: the new build lacks a tool they used" n={unserved.reduce((sum, { items }) => sum + items, 0)} />
      </SimpleGrid>
      <Text size="sm">Model {from.model ?? '–'} → {to.model ?? '–'}, prompt {from.prompt ?? '–'} → {to.prompt ?? '–'}.</Text>
      {unserved.map(({ tool, version, items }) => <Text key={`${tool} ${version}`} size="sm"><b><Visible text={tool} /> {version}</b> is not in the new build: {plural(items, 'item')} that called it would be blocked.</Text>)}
      {changedTools.map(({ tool, from: old, to: next, isKeyChanged }) => (
        <Text key={tool} size="sm"><b><Visible text={tool} /></b>: {old} → {next ?? 'gone'}{isKeyChanged && <Text span size="sm" className="tone-text" data-tone="bad">. Its key changes: what another item did under the old key is not recognised.</Text>}</Text>
      ))}
      {unserved.length === 0 && changedTools.length === 0 && <Text size="sm" c="dimmed">Every call of its unfinished items is recognised.</Text>}
    </Stack>
  )
}
