/** Moves a run to another agent version: first what the new one would not recognise. */
import { Alert, Button, Checkbox, Group, Modal, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { PawlError, visibleText } from '@pawl/core'
import type { RepinPreview, Run } from '@pawl/client/http'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../api.ts'
import { Problem, tellDone } from '../ui/problem.tsx'
import { Visible } from '../ui/visible.tsx'
import { plural } from '../words.ts'
import { Count } from './preview-lists.tsx'

export function RepinDialog({ run, onClose }: { readonly run: Run; readonly onClose: () => void }) {
  const api = useApi()
  const queries = useQueryClient()
  const [to, setTo] = useState('')
  const [force, setForce] = useState(false)
  const [reason, setReason] = useState('')
  const [preview, setPreview] = useState<RepinPreview>()
  const [error, setError] = useState<unknown>()
  const [isAsking, setAsking] = useState(false)
  const ask = async (act: () => Promise<void>): Promise<void> => {
    setAsking(true)
    setError(undefined)
    try {
      await act()
    } catch (refusal) {
      setError(refusal)
    } finally {
      setAsking(false)
    }
  }
  const look = (): Promise<void> => ask(async () => {
    const found = await api.repin(run.id, { to: to.trim(), dryRun: true, force })
    if (!found.dryRun) throw new PawlError('PRODUCER_ACTED', 'The producer acted when it was asked what it would do. Run both in the same version.', 'retry')
    setPreview(found)
  })
  const move = (): Promise<void> => ask(async () => {
    const answer = await api.repin(run.id, { to: to.trim(), force, reason: reason.trim() === '' ? undefined : reason })
    tellDone(`The run goes on with version ${answer.to.version}${answer.dryRun ? '' : `; ${plural(answer.moved, 'item')} moved`}.`)
    void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey.includes(run.id) })
    onClose()
  })
  return (
    <Modal opened onClose={onClose} size="xl" title="Move this run to another version?" data-verb="repin">
      <Stack gap="sm">
        <Text size="sm">It goes on under another version of <Visible text={run.agent} />, with that version’s model, prompt and tools. It is {run.agentVersion} now. What is in progress is handed back at its next call.</Text>
        <form onSubmit={(event) => { event.preventDefault(); void look() }}>
          <Group align="flex-end" gap="sm">
            <TextInput label="Version" data-autofocus required value={to} maxLength={40} onChange={(event) => { setTo(event.currentTarget.value); setPreview(undefined) }} />
            <Button type="submit" variant="default" loading={isAsking && preview === undefined} disabled={to.trim() === ''}>Look what would happen</Button>
          </Group>
        </form>
        <Checkbox checked={force} label="Also to a version that nobody has now" description="The run then waits until a worker of it is started." onChange={(event) => { setForce(event.currentTarget.checked); setPreview(undefined) }} />
        {error !== undefined && <Problem error={error} title="Not done" />}
        {preview !== undefined && <>
          <RepinLists preview={preview} />
          {preview.isAllowed && <>
            <TextInput label="Reason, for the record" placeholder="optional" value={reason} maxLength={1_900} onChange={(event) => setReason(event.currentTarget.value)} />
            <Group>
              <Button loading={isAsking} onClick={() => { void move() }}>Move it to {visibleText(preview.to.version)}</Button>
              <Button variant="default" onClick={onClose}>Leave it as it is</Button>
            </Group>
          </>}
        </>}
      </Stack>
    </Modal>
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
