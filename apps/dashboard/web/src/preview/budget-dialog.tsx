/** What the models of a run may spend. Items that wait for it go on by themselves once there is room. */
import { Button, Group, Modal, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import type { Run } from '@pawl/client/http'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import { useApi } from '../api.ts'
import { Problem, tellDone } from '../ui/problem.tsx'

const limits = [['turns', 'Turns'], ['tokens', 'Tokens'], ['cost', 'Cost'], ['wallMs', 'Time, in milliseconds']] as const
const scopes = [['run', 'The run, all items together', 'budget'], ['item', 'Each item', 'itemBudget']] as const
const kept = z.record(z.string(), z.unknown())

const limitOf = (run: Run, policy: string, limit: string): string => {
  const found = kept.safeParse(run.policy[policy])
  const value = found.success ? found.data[limit] : undefined
  return typeof value === 'number' ? String(value) : ''
}

type Scope = (typeof scopes)[number][0]
type Typed = Readonly<Record<string, string>>

export function BudgetDialog({ run, onClose }: { readonly run: Run; readonly onClose: () => void }) {
  const api = useApi()
  const queries = useQueryClient()
  const [typed, setTyped] = useState<Typed>({})
  const [note, setNote] = useState('')
  const [error, setError] = useState<unknown>()
  const [isSetting, setSetting] = useState(false)
  const entered = (scope: Scope): Record<string, number> =>
    Object.fromEntries(limits.flatMap(([limit]): [string, number][] => {
      const text = typed[`${scope} ${limit}`]?.trim()
      return text === undefined || text === '' ? [] : [[limit, Number(text)]]
    }))
  const isWrong = Object.values(typed).some((text) => text.trim() !== '' && !(Number(text) >= 0))
  const isEmpty = Object.values(typed).every((text) => text.trim() === '')
  const set = async (): Promise<void> => {
    setSetting(true)
    setError(undefined)
    try {
      const [ofRun, ofItem] = [entered('run'), entered('item')]
      await api.setBudget(run.id, { ...(Object.keys(ofRun).length > 0 ? { run: ofRun } : {}), ...(Object.keys(ofItem).length > 0 ? { item: ofItem } : {}), note: note.trim() === '' ? undefined : note })
      tellDone('The budget is set. Items that waited for it go on.')
      void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey.includes(run.id) })
      onClose()
    } catch (refusal) {
      setError(refusal)
    } finally {
      setSetting(false)
    }
  }
  return (
    <Modal opened onClose={onClose} size="lg" title="What may its models spend?" data-verb="budget">
      <form onSubmit={(event) => { event.preventDefault(); void set() }}>
        <Stack gap="sm">
          <Text size="sm">Limits you leave empty stay as they are. What was spent stays counted; it is looked at before each turn, so one turn may exceed a limit.</Text>
          {scopes.map(([scope, name, policy]) => (
            <fieldset key={scope} className="plain">
              <legend><Text size="sm" fw={600}>{name}</Text></legend>
              <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="xs">
                {limits.map(([limit, label]) => {
                  const now = limitOf(run, policy, limit)
                  return <TextInput key={limit} label={label} inputMode="decimal" description={now === '' ? 'no limit set here' : `now ${now}`} value={typed[`${scope} ${limit}`] ?? ''} onChange={(event) => setTyped({ ...typed, [`${scope} ${limit}`]: event.currentTarget.value })} />
                })}
              </SimpleGrid>
            </fieldset>
          ))}
          <TextInput label="Note, for the record" placeholder="optional" value={note} maxLength={1_900} onChange={(event) => setNote(event.currentTarget.value)} />
          {error !== undefined && <Problem error={error} title="Not done" />}
          <Group>
            <Button type="submit" loading={isSetting} disabled={isEmpty || isWrong}>Set these limits</Button>
            <Button variant="default" type="button" onClick={onClose}>Leave it as it is</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
