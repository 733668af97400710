/** What an agent asks, and a form for its answer. What will be sent stands below it, to the letter. */
import { Button, Code, Group, NativeSelect, Radio, Stack, Text, Textarea, TextInput, Title } from '@mantine/core'
import { PawlError, visibleText } from '@pawl/core'
import type { InboxItem } from '@pawl/client/http'
import { useMemo, useState } from 'react'
import { Problem } from '../../ui/problem.tsx'
import { Value, Visible } from '../../ui/visible.tsx'
import { When } from '../../ui/when.tsx'
import { Fact, Facts } from './facts.tsx'
import { fieldsOf, fill, type Field } from './question-fields.ts'

export type QuestionEntry = Extract<InboxItem, { kind: 'question' }>

export function QuestionHead({ entry: { question } }: { readonly entry: QuestionEntry }) {
  return (
    <Stack gap="xs">
      <Title order={2}>The agent asks</Title>
      <Text className="break" style={{ whiteSpace: 'pre-wrap' }}><Visible text={question.question} /></Text>
      <Facts>
        <Fact name="Asked"><When at={question.askedAt} /></Fact>
        <Fact name="What an answer causes" isWide>The item goes on with it, on every later attempt too. The first answer stands.</Fact>
      </Facts>
      <details>
        <summary>What the answer may be, as JSON Schema</summary>
        <Value value={question.answerSchema} />
      </details>
    </Stack>
  )
}

/** The member a refusal names. */
const fieldAt = (path: unknown): string | undefined => (typeof path === 'string' ? path.replace(/^answer\.?/, '') : undefined)

const asJson: readonly Field[] = [{ name: null, kind: 'json', label: 'Your answer, as JSON', description: undefined, isRequired: true, choices: [], initial: '' }]

export function QuestionAnswer({ entry, onAnswer }: { readonly entry: QuestionEntry; readonly onAnswer: (value: unknown, note: string | undefined) => Promise<void> }) {
  const fields = useMemo(() => fieldsOf(entry.question.answerSchema), [entry.question.answerSchema])
  const isFlat = !(fields.length === 1 && fields[0]?.kind === 'json')
  const [isJson, setJson] = useState(false)
  const [typed, setTyped] = useState<ReadonlyMap<string | null, string>>(new Map())
  const [note, setNote] = useState('')
  const [error, setError] = useState<unknown>()
  const [isTried, setTried] = useState(false)
  const [isSending, setSending] = useState(false)
  const shown = isJson || !isFlat ? asJson : fields
  const filled = fill(shown, typed)
  const refused = error instanceof PawlError && error.code === 'BAD_ANSWER' ? fieldAt(error.details['path']) : undefined

  const send = async (): Promise<void> => {
    setTried(true)
    if (filled.wrong.size > 0) return
    setSending(true)
    setError(undefined)
    try {
      await onAnswer(filled.value, note.trim() === '' ? undefined : note)
    } catch (refusal) {
      setError(refusal)
    } finally {
      setSending(false)
    }
  }
  return (
    <form onSubmit={(event) => { event.preventDefault(); void send() }} noValidate>
      <Stack gap="sm">
        {shown.map((field) => (
          <FieldInput key={field.name ?? ''} field={field} value={typed.get(field.name) ?? field.initial} onChange={(text) => setTyped(new Map(typed).set(field.name, text))}
            error={(isTried ? filled.wrong.get(field.name) : undefined) ?? (refused !== undefined && refused === (field.name ?? '') ? 'The ledger did not take it; see below.' : undefined)} />
        ))}
        {filled.wrong.size === 0 && <div><Text size="sm" fw={600} mb={4}>What is recorded</Text><Code block className="value" data-answer>{visibleText(JSON.stringify(filled.value))}</Code></div>}
        <TextInput label="Note, for the record" placeholder="optional" value={note} maxLength={1_900} onChange={(event) => setNote(event.currentTarget.value)} />
        {error !== undefined && <Problem error={error} title="Not done" />}
        <Group gap="sm">
          <Button type="submit" loading={isSending}>Answer</Button>
          {isFlat && <Button variant="subtle" type="button" onClick={() => setJson(!isJson)}>{isJson ? 'As a form' : 'As JSON'}</Button>}
        </Group>
      </Stack>
    </form>
  )
}

function FieldInput({ field, value, error, onChange }: { readonly field: Field; readonly value: string; readonly error: string | undefined; readonly onChange: (text: string) => void }) {
  const { kind, isRequired, choices } = field
  const shared = { label: visibleText(field.label), description: field.description === undefined ? undefined : visibleText(field.description), error, withAsterisk: isRequired }
  switch (kind) {
    case 'choice': return <NativeSelect {...shared} value={value} onChange={(event) => onChange(event.currentTarget.value)} data={[{ value: '', label: isRequired ? 'Choose…' : '(nothing)' }, ...choices.map((choice) => ({ value: choice, label: visibleText(choice.replace(/^"(.*)"$/, '$1')) }))]} />
    // Nothing is chosen beforehand: an unticked box could not be told from one that nobody looked at.
    case 'boolean': return (
      <Radio.Group {...shared} value={value} onChange={onChange}>
        <Group mt={6}><Radio value="true" label="Yes" /><Radio value="false" label="No" />{!isRequired && <Radio value="" label="(nothing)" />}</Group>
      </Radio.Group>
    )
    case 'long': case 'json': return <Textarea {...shared} autosize minRows={2} maxRows={14} value={value} onChange={(event) => onChange(event.currentTarget.value)} spellCheck={kind === 'long'} />
    case 'number': case 'whole': return <TextInput {...shared} inputMode="decimal" value={value} onChange={(event) => onChange(event.currentTarget.value)} />
    case 'text': return <TextInput {...shared} value={value} onChange={(event) => onChange(event.currentTarget.value)} />
  }
}
