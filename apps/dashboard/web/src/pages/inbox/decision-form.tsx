/** The way every answer is given: choose, read what it causes, say why, send. Two movements, so that no slip of a hand decides anything. */
import { Alert, Button, Group, Radio, Stack, Text, TextInput } from '@mantine/core'
import { useId, useState, type ReactNode } from 'react'
import { Problem } from '../../ui/problem.tsx'
import type { Choice } from './causes.ts'

export interface Answered {
  readonly choice: string
  readonly note: string | undefined
}

export interface DecisionFormProps {
  readonly legend: string
  readonly choices: readonly Choice[]
  readonly notePlaceholder: string
  /** Throws where it is refused: what it says is shown here. */
  readonly onAnswer: (answer: Answered) => Promise<void>
  /** More that belongs to a choice. */
  readonly fieldsOf?: (choice: string) => ReactNode
  /** A choice whose fields are not filled in. */
  readonly isReady?: (choice: string) => boolean
}

/** What the record keeps of a note. */
const noteChars = 1_900

export function DecisionForm({ legend, choices, notePlaceholder, onAnswer, fieldsOf, isReady }: DecisionFormProps) {
  const name = useId()
  const [chosen, choose] = useState('')
  const [note, setNote] = useState('')
  const [error, setError] = useState<unknown>()
  const [isSending, setSending] = useState(false)
  const choice = choices.find(({ value, notNow }) => value === chosen && notNow === undefined)
  const send = async (): Promise<void> => {
    if (choice === undefined) return
    setSending(true)
    setError(undefined)
    try {
      await onAnswer({ choice: choice.value, note: note.trim() === '' ? undefined : note })
    } catch (refusal) {
      setError(refusal)
    } finally {
      setSending(false)
    }
  }
  return (
    <form onSubmit={(event) => { event.preventDefault(); void send() }}>
      <Stack gap="sm">
        <Radio.Group name={name} value={chosen} onChange={choose} label={legend}>
          <Stack gap="xs" mt={6}>
            {choices.map(({ value, name: word, causes, notNow }) => (
              <Stack key={value} gap={4}>
                <Radio value={value} label={word} description={notNow === undefined ? causes : `${notNow} ${causes}`} disabled={notNow !== undefined} styles={{ label: { fontWeight: 600 } }} />
                {chosen === value && fieldsOf?.(value)}
              </Stack>
            ))}
          </Stack>
        </Radio.Group>
        <TextInput label="Note, for the record" placeholder={notePlaceholder} value={note} maxLength={noteChars} onChange={(event) => setNote(event.currentTarget.value)} />
        {error !== undefined && <Problem error={error} title="Not done" />}
        <Group gap="sm">
          <Button type="submit" loading={isSending} disabled={choice === undefined || isReady?.(choice.value) === false} {...(choice?.isEnding === true ? { color: 'red' } : {})}>{choice?.button ?? 'Choose first'}</Button>
        </Group>
      </Stack>
    </form>
  )
}

/** Where there is nothing to press. */
export function MayNot({ role }: { readonly role: string }) {
  return <Text c="dimmed" size="sm">You may {role}. Answering needs the role operate.</Text>
}

export function DoneNote({ children }: { readonly children: ReactNode }) {
  return <Alert color="pawl" variant="light" p="xs" role="status">{children}</Alert>
}
