import { ActionIcon, Code, CopyButton, Group, Paper, Text, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import type { ReactNode } from 'react'

/** Nothing to show: why, and the command that changes it. */
export function Empty({ sentence, command }: { readonly sentence: ReactNode; readonly command?: string }) {
  return (
    <Paper withBorder p="lg" ta="center">
      <Text c="dimmed">{sentence}</Text>
      {command !== undefined && <Group justify="center" mt="sm"><Command text={command} /></Group>}
    </Paper>
  )
}

/** A line for the terminal, to be taken along. */
export function Command({ text }: { readonly text: string }) {
  return (
    <Group gap={4} wrap="nowrap">
      <Code fz="sm" className="break">{text}</Code>
      <CopyButton value={text}>{({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : 'Copy'}>
          <ActionIcon variant="subtle" color="gray" aria-label={`Copy “${text}”`} onClick={copy}>{copied ? <IconCheck size={16} /> : <IconCopy size={16} />}</ActionIcon>
        </Tooltip>
      )}</CopyButton>
    </Group>
  )
}
