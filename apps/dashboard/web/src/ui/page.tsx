import { Box, Group, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { visibleText } from './visible.tsx'

/** A page: its name in the tab, its heading, what can be done beside it. `heading` where the name is more than text. */
export function Page({ title, heading, actions, children }: { readonly title: string; readonly heading?: ReactNode; readonly actions?: ReactNode; readonly children: ReactNode }) {
  useDocumentTitle(`${visibleText(title)} · Pawl`)
  return (
    <Box maw={1440} mx="auto">
      <Group justify="space-between" align="flex-start" mb="md" gap="sm">
        <Title order={1} className="break">{heading ?? title}</Title>
        {actions}
      </Group>
      {children}
    </Box>
  )
}
