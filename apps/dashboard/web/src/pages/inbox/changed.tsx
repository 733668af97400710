/** It became another thing to decide while somebody looked at it: what was shown, what it is now, and no answer before that was read. */
import { Alert, Button, SimpleGrid, Stack, Text } from '@mantine/core'
import type { InboxItem } from '@pawl/client/http'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useMay } from '../../api.ts'
import { textOf } from '../../ui/visible.tsx'
import { CallText } from './approval-card.tsx'
import type { Held } from './held.ts'

export function Changed({ held: { entry, now }, onRead }: { readonly held: Held; readonly onRead: () => void }) {
  const mayAnswer = useMay('operate')
  if (now === undefined) return null
  return (
    <Alert color="orange" title="It changed since you looked" icon={<IconAlertTriangle />} role="alert" data-changed>
      <Stack gap="sm">
        <Text size="sm">{mayAnswer ? 'What you were shown can no longer be answered. Read what holds now.' : 'This is what holds now.'}</Text>
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <CallText label="As you were shown it" text={boundText(entry)} />
          <CallText label="As it is now" text={boundText(now)} />
        </SimpleGrid>
        <div><Button onClick={onRead} variant="default">I have read it: show it as it is now</Button></div>
      </Stack>
    </Alert>
  )
}

function boundText(entry: InboxItem): string {
  switch (entry.kind) {
    case 'approval': return `${entry.approval.tool} ${entry.approval.toolVersion}\n${entry.approval.argsText}`
    case 'in_doubt': return `attempt ${entry.action.attempt}\n${textOf(entry.action.appliedEvidence === null ? entry.action.evidence : [...entry.action.evidence, entry.action.appliedEvidence])}`
    case 'question': return entry.question.question
    case 'blocked': return `${entry.reason}\n${textOf(entry.detail)}`
  }
}
