/** Many calls of one tool, decided at once: all of them are shown, each is decided by its own digest, and each says what became of it. */
import { Alert, Badge, Button, Checkbox, Group, Modal, ScrollArea, Stack, Text } from '@mantine/core'
import type { ApprovalDecision } from '@pawl/client/http'
import { visibleText } from '@pawl/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../api.ts'
import { Visible } from '../../ui/visible.tsx'
import { plural, shortId } from '../../words.ts'
import type { ApprovalEntry } from './approval-card.tsx'
import { CallText } from './approval-card.tsx'
import type { Choice } from './causes.ts'
import { DecisionForm } from './decision-form.tsx'
import type { Group as Calls } from './held.ts'

export interface Chosen {
  readonly runId: string
  readonly tool: string
  /** What is decided is what was shown when it was opened, and no call that came since. */
  readonly entries: readonly ApprovalEntry[]
}

const chosenOf = ({ runId, tool, held }: Calls): Chosen => ({ runId, tool, entries: held.flatMap(({ entry }) => (entry.kind === 'approval' ? [entry] : [])) })

export function TogetherNotice({ group, onOpen }: { readonly group: Calls; readonly onOpen: (chosen: Chosen) => void }) {
  return (
    <Alert color="gray" p="xs">
      <Group justify="space-between" gap="sm">
        <Text size="sm"><b>{plural(group.held.length, 'call')}</b> of <b><Visible text={group.tool} /></b> in run {shortId(group.runId)} wait for a yes or no.</Text>
        <Button size="xs" variant="default" onClick={() => onOpen(chosenOf(group))}>Decide them together</Button>
      </Group>
    </Alert>
  )
}

/** Kept by the page, not by the notice: that goes as soon as the calls are decided, and what became of them is still to be read. */
export function TogetherDialog({ chosen: { runId, tool, entries }, onClose }: { readonly chosen: Chosen; readonly onClose: () => void }) {
  const api = useApi()
  const queries = useQueryClient()
  const [left, setLeft] = useState<ReadonlySet<number>>(new Set())
  const [decisions, setDecisions] = useState<readonly ApprovalDecision[]>()
  const picked = entries.filter(({ approval }) => !left.has(approval.actionId))
  const choices: readonly Choice[] = [
    { value: 'approve', name: 'Approve', button: `Approve ${plural(picked.length, 'call')}`, causes: 'Each of them is sent with exactly the arguments shown here, once. Calls that came since are not touched.' },
    { value: 'reject', name: 'Reject', button: `Reject ${plural(picked.length, 'call')}`, isEnding: true, causes: 'None of them is ever sent. The agent is told that a person said no, with your note.' },
  ]
  return (
    <Modal opened onClose={onClose} size="xl" title={`${plural(entries.length, 'call')} of ${visibleText(tool)}`}>
      <Stack gap="sm">
        <ScrollArea.Autosize mah="50vh" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': 'The calls' }}>
          <Stack gap="sm">
            {entries.map(({ approval, itemSeq, itemKey }) => (
              <div key={approval.actionId} data-call={approval.actionId}>
                <Group justify="space-between" gap="xs">
                  <Checkbox checked={!left.has(approval.actionId)} disabled={decisions !== undefined} label={visibleText(`Item ${itemSeq} ${itemKey}`)}
                    onChange={() => setLeft(left.has(approval.actionId) ? new Set([...left].filter((id) => id !== approval.actionId)) : new Set([...left, approval.actionId]))} />
                  <Outcome decision={decisions?.find(({ actionId }) => actionId === approval.actionId)} />
                </Group>
                <CallText text={approval.argsText} label={`Arguments of item ${itemSeq}`} />
              </div>
            ))}
          </Stack>
        </ScrollArea.Autosize>
        {decisions !== undefined ? <Group><Button onClick={onClose}>Close</Button></Group> : (
          <DecisionForm legend={`Your answer for ${picked.length} of ${entries.length}`} choices={choices} notePlaceholder="kept with each of them" isReady={() => picked.length > 0}
            onAnswer={async ({ choice, note }) => {
              const calls = picked.map(({ approval: { actionId, digest } }) => ({ actionId, digest }))
              setDecisions(await api.decideApprovals(runId, { ...(choice === 'approve' ? { approve: calls } : { reject: calls }), note }))
              void queries.invalidateQueries({ queryKey: ['inbox'] })
              void queries.invalidateQueries({ queryKey: ['waiting'] })
            }} />
        )}
      </Stack>
    </Modal>
  )
}

function Outcome({ decision }: { readonly decision: ApprovalDecision | undefined }) {
  if (decision === undefined) return null
  const isDone = decision.outcome === 'approved' || decision.outcome === 'rejected'
  return <Badge color={isDone ? 'pawl' : 'orange'} variant="light" tt="none" data-outcome={decision.outcome} style={{ height: 'auto', whiteSpace: 'normal' }}>{sentenceOf(decision)}</Badge>
}

function sentenceOf({ outcome, status, decidedBy, decidedAt }: ApprovalDecision): string {
  switch (outcome) {
    case 'approved': return 'approved by you'
    case 'rejected': return 'rejected by you'
    case 'decided': return `${status ?? 'decided'} by ${visibleText(decidedBy ?? 'somebody')} at ${decidedAt?.toISOString() ?? '?'}; that stands`
    case 'changed': return 'another call now; nothing was decided about it'
    case 'expired': return 'the request has run out; it is asked anew'
    case 'void': return 'no longer to be made'
    case 'requester': return 'belongs to a run you started; another person has to say yes'
    case 'missing': return 'asks for no approval'
  }
}
