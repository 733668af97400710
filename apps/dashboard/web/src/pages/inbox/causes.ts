/** What each answer will cause, in words. The same on the item's page, in the inbox and for many calls at once. */
import type { InboxItem } from '@pawl/client/http'

export interface Choice {
  readonly value: string
  readonly name: string
  /** What happens when it is chosen. */
  readonly causes: string
  /** Of the button that gives the answer. */
  readonly button: string
  readonly isEnding?: boolean
  /** Not taken now, and why. */
  readonly notNow?: string | undefined
}

type Doubt = Extract<InboxItem, { kind: 'in_doubt' }>
type Approval = Extract<InboxItem, { kind: 'approval' }>
type Blocked = Extract<InboxItem, { kind: 'blocked' }>

export function choicesOfApproval({ approval }: Approval): readonly Choice[] {
  return [
    {
      value: 'approve', name: 'Approve', button: approval.isStaged ? 'Approve: send it at the end of the run' : 'Approve: send this call',
      causes: `${approval.isStaged ? 'At the end of the run the call is sent' : 'The call is sent'} with exactly these arguments. The yes is used up by it, and covers no other call.${approval.irreversible ? ' Nothing takes it back.' : ''}`,
    },
    { value: 'reject', name: 'Reject', button: 'Reject: never send it', isEnding: true, causes: 'The call is never sent. The agent is told that a person said no, with your note, and goes on as it sees fit.' },
  ]
}

export function choicesOfDoubt({ action, answers }: Doubt): readonly Choice[] {
  const isKnown = action.appliedEvidence !== null
  const wait = isKnown ? 'Its result has arrived and proves that it happened.' : 'Not yet: a late send could still follow a no.'
  const notNow = (value: Doubt['answers'][number]): string | undefined => (answers.includes(value) ? undefined : wait)
  return [
    {
      value: 'happened', name: 'It happened', button: 'Record: it happened', notNow: notNow('happened'),
      causes: isKnown ? 'Recorded as committed, with the result that came late. The item goes on with it; nothing is sent.' : 'Recorded as committed, with the result you give. The item goes on with it; nothing is sent.',
    },
    { value: 'did_not', name: 'It did not happen', button: 'Record: it did not happen', notNow: notNow('did_not'), causes: 'Recorded as not applied. The item goes on, and the call may be sent again under the same key; in a run that was cancelled or is being undone it is not.' },
    { value: 'abandon', name: 'Nobody can find out', button: 'Record: nobody can find out', isEnding: true, notNow: notNow('abandon'), causes: 'Recorded as unknown for ever. It is never sent again, its item fails, and it is listed as residue.' },
  ]
}

const resumes: Readonly<Partial<Record<Blocked['reason'], string>>> = {
  budget: 'It runs again from its first line and blocks again unless the budget is raised first. What is committed is not repeated.',
  version: 'It is rung for again, and waits again unless a worker of its version is there. Start such a worker, or move the run to another version.',
  key: 'It is rung for again. It goes on by itself once the other item has ended.',
  crash_loop: 'It runs again from its first line, alone in a process at first, with its count of crashes begun anew. What is committed is not repeated.',
  undo: 'The undo is tried again; what was undone stays undone.',
}

export function choicesOfBlocked({ verbs, reason, itemKind }: Blocked): readonly Choice[] {
  const all: readonly Choice[] = [
    { value: 'resume', name: 'Resume', button: 'Resume the item', causes: resumes[reason] ?? 'It runs again from its first line; what is committed is not repeated.' },
    itemKind === 'compensate'
      ? { value: 'fail', name: 'Give this undo up', button: 'Give this undo up', isEnding: true, causes: 'This one write stays, and is listed as residue. The other undos go on.' }
      : { value: 'fail', name: 'Fail', button: 'End the item as failed', isEnding: true, causes: 'The item ends as failed. What it did stays done.' },
  ]
  return all.filter(({ value }) => verbs.some((verb) => verb === value))
}
