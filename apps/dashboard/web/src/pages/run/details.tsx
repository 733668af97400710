/** The long lists of a run, one at a time; which one is in the address. */
import { Button, Group, Stack, Tabs } from '@mantine/core'
import type { Run } from '@pawl/client/http'
import { IconDownload } from '@tabler/icons-react'
import { useSearchParams } from 'react-router'
import { apiPath } from '../../api.ts'
import { Value } from '../../ui/visible.tsx'
import { Compensation } from './compensation.tsx'
import { EventList } from './event-list.tsx'
import { Finalizer } from './finalizer.tsx'
import { Items } from './items.tsx'
import { Timeline } from './timeline.tsx'
import type { Events } from './use-events.ts'

const TABS = ['items', 'timeline', 'compensation', 'events', 'values'] as const
type Tab = (typeof TABS)[number]

const isTab = (text: string | null): text is Tab => TABS.some((tab) => tab === text)

export function Details({ run, events }: { readonly run: Run; readonly events: Events }) {
  const [search, setSearch] = useSearchParams()
  const given = search.get('tab')
  const tab = isTab(given) ? given : 'items'
  const wasUndone = run.status.startsWith('compensat')
  return (
    <Tabs value={tab} onChange={(next) => setSearch(next === null || next === 'items' ? {} : { tab: next }, { replace: true })} keepMounted={false}>
      <Group justify="space-between" align="flex-end" gap={4}>
        <Tabs.List>
          <Tabs.Tab value="items">Items</Tabs.Tab>
          <Tabs.Tab value="timeline">Timeline</Tabs.Tab>
          {(wasUndone || tab === 'compensation') && <Tabs.Tab value="compensation">Compensation</Tabs.Tab>}
          <Tabs.Tab value="events">Events</Tabs.Tab>
          <Tabs.Tab value="values">Input and result</Tabs.Tab>
        </Tabs.List>
        <Button component="a" href={`${apiPath}/v1/runs/${encodeURIComponent(run.id)}/export`} download={`${run.id}.ndjson`} size="xs" variant="subtle" leftSection={<IconDownload size={14} />}>Export</Button>
      </Group>
      <Tabs.Panel value="items" pt="sm"><Stack gap="sm"><Finalizer run={run} /><Items run={run} /></Stack></Tabs.Panel>
      <Tabs.Panel value="timeline" pt="sm"><Timeline run={run} /></Tabs.Panel>
      <Tabs.Panel value="compensation" pt="sm"><Compensation run={run} /></Tabs.Panel>
      <Tabs.Panel value="events" pt="sm"><EventList runId={run.id} {...events} /></Tabs.Panel>
      <Tabs.Panel value="values" pt="sm"><Stack><div><b>Input</b><Value value={run.input} /></div><div><b>Result</b><Value value={run.result ?? undefined} /></div></Stack></Tabs.Panel>
    </Tabs>
  )
}
