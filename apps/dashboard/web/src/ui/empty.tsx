import { ActionIcon, Code, Group, Paper, Text, Tooltip } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
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

/** A line for the terminal, to be taken along. Over plain http browsers have no clipboard: there is no button then, and a click chooses the whole line. */
export function Command({ text }: { readonly text: string }) {
  return (
    <Group gap={4} wrap="nowrap">
      <Code fz="sm" className={globalThis.isSecureContext ? 'break' : 'break whole'}>{text}</Code>
      {globalThis.isSecureContext && <Copy text={text} />}
    </Group>
  )
}

function Copy({ text }: { readonly text: string }) {
  const { copy, copied, error } = useClipboard()
  return (
    <Tooltip label={error !== null ? 'Not copied: the browser does not allow it' : copied ? 'Copied' : 'Copy'}>
      <ActionIcon variant="subtle" color="gray" aria-label={`Copy “${text}”`} onClick={() => copy(text)}>{copied ? <IconCheck size={16} /> : <IconCopy size={16} />}</ActionIcon>
    </Tooltip>
  )
}
