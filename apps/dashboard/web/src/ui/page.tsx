import { Box, Group, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { visibleText } from '@pawl/core'
import type { ReactNode } from 'react'

interface PageProps {
  /** In the tab, and as the heading where there is no other. */
  readonly title: string
  readonly heading?: ReactNode
  /** The way back up. */
  readonly above?: ReactNode
  /** What can be done, beside the heading. */
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export function Page({ title, heading, above, actions, children }: PageProps) {
  useDocumentTitle(`${visibleText(title)} · Pawl`)
  return (
    <Box maw={1440} mx="auto">
      {above}
      <Group justify="space-between" align="flex-start" mb="md" gap="sm">
        <Title order={1} className="break">{heading ?? title}</Title>
        {actions}
      </Group>
      {children}
    </Box>
  )
}
