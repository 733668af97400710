/** A refusal or failure: its sentence, which says the way out, and its code. */
import { Alert, Button, Code, Group, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { PawlError, visibleText } from '@pawl/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { ZodError } from 'zod'
import { Visible } from './visible.tsx'

export interface Told {
  readonly code: string
  readonly sentence: string
}

export function toldOf(error: unknown): Told {
  if (error instanceof PawlError) return { code: error.code, sentence: error.message }
  if (error instanceof ZodError) return { code: 'OTHER_VERSION', sentence: 'The producer’s answer has not the shape this dashboard knows. Run both in the same version, and reload.' }
  return { code: 'INTERNAL', sentence: `The page failed: ${error instanceof Error ? error.message : String(error)}. Reload it; if it stays, report it.` }
}

export function Problem({ error, title, onRetry }: { readonly error: unknown; readonly title?: string; readonly onRetry?: () => void }) {
  const { code, sentence } = toldOf(error)
  return (
    <Alert color="red" variant="light" icon={<IconAlertTriangle />} title={title} role="alert" maw={760}>
      <Text size="sm"><Visible text={sentence} /></Text>
      <Group mt="sm">
        {onRetry !== undefined && <Button size="xs" variant="default" onClick={onRetry}>Try again</Button>}
        <Code>{code}</Code>
      </Group>
    </Alert>
  )
}

/** What was done, for whoever did it. */
export function tellDone(sentence: string): void {
  notifications.show({ message: visibleText(sentence), color: 'pawl', autoClose: 6_000 })
}

export function tellProblem(error: unknown): void {
  const { code, sentence } = toldOf(error)
  notifications.show({ title: 'Not done', message: `${visibleText(sentence)} (${code})`, color: 'red', autoClose: 15_000 })
}
