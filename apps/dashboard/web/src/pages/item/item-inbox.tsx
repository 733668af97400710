/** What of this item waits for a person, answered here as in the inbox. */
import { Stack, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../api.ts'
import { EntryCard } from '../inbox/entry-card.tsx'
import { hold, read, type Held } from '../inbox/held.ts'

/** A run in which more waits is answered in the inbox, which has pages. */
const most = 200
const everyMs = 2_000
const none: readonly Held[] = []

export function ItemInbox({ runId, seq, isWaiting }: { readonly runId: string; readonly seq: number; readonly isWaiting: boolean }) {
  const api = useApi()
  const [held, setHeld] = useState(none)
  const { data } = useQuery({ queryKey: ['inbox', runId, 'of one item'], queryFn: () => api.inbox({ runId, limit: most }), refetchInterval: everyMs, enabled: isWaiting || held.some(({ now }) => now !== undefined) })
  const [seen, setSeen] = useState<typeof data>()
  if (data !== undefined && data !== seen) {
    setSeen(data)
    setHeld(hold(held, data.entries.filter(({ itemSeq }) => itemSeq === seq), data.cursor === null))
  }
  if (held.length === 0) return null
  return (
    <section aria-label="What waits for a person">
      <Title order={2} mb={6}>Waits for a person</Title>
      <Stack gap="sm" maw={980}>{held.map((one) => <EntryCard key={one.id} held={one} isAlone onRead={() => setHeld((all) => read(all, one.id))} />)}</Stack>
    </section>
  )
}
