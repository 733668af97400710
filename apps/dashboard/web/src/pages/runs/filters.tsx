import { Button, Chip, Group, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { RUN_STATUSES, type RunStatus, visibleText } from '@pawl/core'
import { IconSearch, IconX } from '@tabler/icons-react'
import { useEffect, useRef, useState } from 'react'
import { number, toneOf, words } from '../../words.ts'
import { isFiltered, type RunsView } from './filter.ts'

interface FiltersProps {
  readonly view: RunsView
  readonly byStatus: Readonly<Partial<Record<RunStatus, number>>> | undefined
  readonly onChange: (change: Partial<RunsView>) => void
  readonly wantsFocus: boolean
}

const nothing: RunsView = { status: [], agent: '', labels: [], search: '', isPaused: false }
const pauseMs = 300

export function Filters({ view, byStatus, onChange, wantsFocus }: FiltersProps) {
  return (
    <>
      <StatusChips view={view} byStatus={byStatus} onChange={onChange} />
      <Group gap="xs" align="flex-end">
        <Field label="Search" placeholder="id, label value or key" value={view.search} onChange={(search) => onChange({ search })} isSearch wantsFocus={wantsFocus} />
        <Field label="Agent" placeholder="any" value={view.agent} onChange={(agent) => onChange({ agent })} />
        {view.labels.map((label) => (
          <Button key={label} size="xs" variant="light" color="gray" rightSection={<IconX size={12} />} aria-label={`Drop the label ${label}`} onClick={() => onChange({ labels: view.labels.filter((each) => each !== label) })}>{visibleText(label)}</Button>
        ))}
        {isFiltered(view) && <Button size="xs" variant="subtle" onClick={() => onChange(nothing)}>Clear</Button>}
      </Group>
    </>
  )
}

function StatusChips({ view, byStatus, onChange }: Pick<FiltersProps, 'view' | 'byStatus' | 'onChange'>) {
  const shown = RUN_STATUSES.filter((status) => (byStatus?.[status] ?? 0) > 0 || view.status.includes(status))
  const all = byStatus === undefined ? undefined : Object.values(byStatus).reduce((sum, n) => sum + n, 0)
  return (
    <Group gap={6} role="group" aria-label="By status">
      <button type="button" className="chip" aria-pressed={view.status.length === 0} onClick={() => onChange({ status: [] })}>all {all !== undefined && <b>{number(all)}</b>}</button>
      {shown.map((status) => {
        const isOn = view.status.includes(status)
        return (
          <button key={status} type="button" className="chip" aria-pressed={isOn} onClick={() => onChange({ status: isOn ? view.status.filter((each) => each !== status) : [...view.status, status] })}>
            <span className="dot" data-tone={toneOf(status)} />{words(status)} <b>{number(byStatus?.[status] ?? 0)}</b>
          </button>
        )
      })}
      <Chip size="xs" variant="outline" checked={view.isPaused} onChange={(isPaused) => onChange({ isPaused })}>paused only</Chip>
    </Group>
  )
}

interface FieldProps {
  readonly label: string
  readonly placeholder: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly isSearch?: boolean
  readonly wantsFocus?: boolean
}

/** Filters a moment after the last letter. */
function Field({ label, placeholder, value, onChange, isSearch = false, wantsFocus = false }: FieldProps) {
  const [text, setText] = useState(value)
  const field = useRef<HTMLInputElement>(null)
  const sent = useRef(value)
  const send = useDebouncedCallback((next: string) => {
    sent.current = next.trim()
    onChange(next.trim())
  }, pauseMs)
  // The address was changed by something else: "Clear", or the way back.
  useEffect(() => {
    if (value === sent.current) return
    sent.current = value
    setText(value)
  }, [value])
  useEffect(() => { if (wantsFocus) field.current?.focus() }, [wantsFocus])
  return (
    <TextInput ref={field} size="xs" label={label} placeholder={placeholder} value={text} w={isSearch ? 240 : 150} {...(isSearch ? { 'data-search': true, type: 'search', leftSection: <IconSearch size={14} /> } : {})}
      onChange={(event) => { setText(event.currentTarget.value); send(event.currentTarget.value) }} />
  )
}
