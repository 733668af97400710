/** One thing that waits, with all that is needed to decide. What became of it while it was shown is said in its place. */
import { Anchor, Paper, Stack, Text } from '@mantine/core'
import { PawlError } from '@pawl/core'
import { useQueryClient } from '@tanstack/react-query'
import { useLayoutEffect, useRef, useState, type RefObject } from 'react'
import { Link } from 'react-router'
import { useApi, useMay, useSession } from '../../api.ts'
import { itemPath, runPath } from '../../place.ts'
import { Visible } from '../../ui/visible.tsx'
import { shortId } from '../../words.ts'
import { ApprovalAnswer, ApprovalCommands, ApprovalHead, CallText } from './approval-card.tsx'
import { BlockedAnswer, BlockedHead } from './blocked-card.tsx'
import { Changed } from './changed.tsx'
import { DoneNote, MayNot } from './decision-form.tsx'
import { DoubtAnswer, DoubtHead, Wait } from './doubt-card.tsx'
import { isChanged, type Held } from './held.ts'
import { QuestionAnswer, QuestionHead } from './question-card.tsx'
import { Fate } from './fate.tsx'

export function EntryCard({ held, onRead, isAlone = false }: { readonly held: Held; readonly onRead: () => void; readonly isAlone?: boolean }) {
  const { entry } = held
  const [done, setDone] = useState<string>()
  const isGone = held.now === undefined
  const ref = useKeptHeight(isGone || done !== undefined)
  return (
    <Paper ref={ref} withBorder p="md" component="article" id={held.id} data-entry={entry.kind} data-gone={isGone || undefined} tabIndex={-1} aria-label={`${entry.kind.replace('_', ' ')}, item ${entry.itemSeq} of ${entry.agent}`}>
      <Stack gap="sm">
        {!isAlone && (
          <Text size="sm" c="dimmed" className="break">
            <Anchor component={Link} to={runPath(entry.runId)} inherit><Visible text={entry.agent} /> {shortId(entry.runId)}</Anchor>
            {' / '}<Anchor component={Link} to={itemPath(entry.runId, entry.itemSeq)} inherit>item {entry.itemSeq} <Visible text={entry.itemKey} /></Anchor>
          </Text>
        )}
        <Head held={held} />
        {done !== undefined ? <DoneNote>{done}</DoneNote> : isGone ? <Fate entry={entry} /> : isChanged(held) ? <Changed held={held} onRead={onRead} /> : <Answer held={held} onDone={setDone} />}
      </Stack>
    </Paper>
  )
}

function Head({ held: { entry } }: { readonly held: Held }) {
  switch (entry.kind) {
    case 'approval': return <><ApprovalHead entry={entry} /><CallText text={entry.approval.argsText} /></>
    case 'in_doubt': return <DoubtHead entry={entry} />
    case 'question': return <QuestionHead entry={entry} />
    case 'blocked': return <BlockedHead entry={entry} />
  }
}

function Answer({ held: { entry }, onDone }: { readonly held: Held; readonly onDone: (sentence: string) => void }) {
  const api = useApi()
  const queries = useQueryClient()
  const { role } = useSession()
  const mayAnswer = useMay('operate')
  if (!mayAnswer) return <>{entry.kind === 'in_doubt' && <Wait entry={entry} />}<MayNot role={role} /></>
  const after = async (act: () => Promise<string>): Promise<void> => {
    try {
      onDone(await act())
    } finally {
      // Refused or not: what holds now is shown beside what was decided about.
      void queries.invalidateQueries({ queryKey: ['inbox'] })
      void queries.invalidateQueries({ queryKey: ['waiting'] })
      void queries.invalidateQueries({ queryKey: ['item', entry.runId, entry.itemSeq] })
    }
  }
  const { runId, itemSeq } = entry
  switch (entry.kind) {
    case 'approval': {
      const call = { actionId: entry.approval.actionId, digest: entry.approval.digest }
      return <>
        <ApprovalAnswer entry={entry} onAnswer={async ({ choice, note }) => await after(async () => {
          await (choice === 'approve' ? api.approve(runId, call, { note }) : api.reject(runId, call, { note }))
          return choice === 'approve' ? 'Approved by you. The item goes on; the call is sent once.' : 'Rejected by you. The call is never sent, and the agent is told.'
        })} />
        <ApprovalCommands runId={runId} approval={entry.approval} />
      </>
    }
    case 'in_doubt': return <>
      <Wait entry={entry} />
      <DoubtAnswer entry={entry} onAnswer={async ({ choice, note, result }) => await after(async () => {
        if (choice !== 'happened' && choice !== 'did_not' && choice !== 'abandon') throw new PawlError('BAD_REQUEST', 'Choose one of the answers.')
        await api.settle(runId, entry.action.id, { answer: choice, attempt: entry.action.attempt, evidence: entry.action.evidence.length, note, ...(result === undefined ? {} : { result }) })
        return ({ happened: 'Recorded by you: it happened. The item goes on; nothing is sent.', did_not: 'Recorded by you: it did not happen. The item goes on.', abandon: 'Recorded by you: unknown for ever. It is listed as residue.' })[choice]
      })} />
    </>
    case 'question': return <QuestionAnswer entry={entry} onAnswer={async (value, note) => await after(async () => {
      await api.answer(runId, entry.question.id, value, { note })
      return 'Answered by you. The item goes on with it.'
    })} />
    case 'blocked': return entry.verbs.length === 0 ? null : <BlockedAnswer entry={entry} onAnswer={async ({ choice, note, newCalls }) => await after(async () => {
      await api.releaseItem(runId, itemSeq, choice === 'fail' ? 'fail' : 'resume', { note, shown: { attempts: entry.attempts, reason: entry.reason }, ...(newCalls ? { newCalls } : {}) })
      return choice === 'fail' ? 'Ended by you.' : 'Resumed by you. The item goes on.'
    })} />
  }
}

/** What is answered keeps the room it took: nothing below it moves under anybody's hand. */
function useKeptHeight(isKept: boolean): RefObject<HTMLDivElement | null> {
  const ref = useRef<HTMLDivElement>(null)
  const height = useRef(0)
  useLayoutEffect(() => {
    const card = ref.current
    if (card === null) return
    if (!isKept) height.current = card.offsetHeight
    card.style.minHeight = isKept ? `${height.current}px` : ''
  })
  return ref
}
