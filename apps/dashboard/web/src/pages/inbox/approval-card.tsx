/** May this call be made? Shown letter for letter, decided by its digest. */
import { Badge, Code, Group, Stack, Text, Title } from '@mantine/core'
import type { Approval, InboxItem } from '@pawl/client/http'
import { Command } from '../../ui/empty.tsx'
import { Visible } from '../../ui/visible.tsx'
import { When } from '../../ui/when.tsx'
import { plural } from '../../words.ts'
import { choicesOfApproval } from './causes.ts'
import { DecisionForm, type Answered } from './decision-form.tsx'
import { Fact, Facts, KeyFact } from './facts.tsx'

export type ApprovalEntry = Extract<InboxItem, { kind: 'approval' }>

export function ApprovalHead({ entry: { approval, attempts } }: { readonly entry: ApprovalEntry }) {
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Title order={2} className="break">May <Visible text={approval.tool} /> be called?</Title>
        <Badge variant="light" tt="none">{approval.effect}</Badge>
        {approval.irreversible && <Badge color="red" tt="none">nothing takes it back</Badge>}
        {approval.isStaged && <Badge variant="light" color="gray" tt="none">held back to the end of the run</Badge>}
      </Group>
      <Text size="sm">{approval.sends === 0 ? 'It was not sent.' : `It was sent ${plural(approval.sends, 'time')} on an earlier yes, and refused.`} The item waits and holds no worker.</Text>
      <Facts>
        <KeyFact value={approval.key} />
        <Fact name="Tool’s version">{approval.toolVersion}</Fact>
        <Fact name="Attempts of the item">{attempts}</Fact>
        <Fact name="Asked"><When at={approval.requestedAt} /></Fact>
        <Fact name="May be answered until"><When at={approval.expiresAt} /></Fact>
        <KeyFact name="Digest" value={approval.digest} />
      </Facts>
    </Stack>
  )
}

/** As they are kept, letter for letter: nothing is parsed, indented or left out. */
export function CallText({ text, label = 'Arguments, as they will be sent' }: { readonly text: string; readonly label?: string }) {
  return (
    <div>
      <Text size="sm" fw={600} mb={4}>{label}</Text>
      <Code block className="value" tabIndex={0} aria-label={label} data-args><Visible text={text} /></Code>
    </div>
  )
}

export function ApprovalAnswer({ entry, onAnswer }: { readonly entry: ApprovalEntry; readonly onAnswer: (answer: Answered) => Promise<void> }) {
  return <DecisionForm legend="Your answer, for exactly this call" choices={choicesOfApproval(entry)} notePlaceholder="the agent reads it when the call is rejected" onAnswer={onAnswer} />
}

export function ApprovalCommands({ runId, approval }: { readonly runId: string; readonly approval: Approval }) {
  return (
    <details>
      <summary>On the command line</summary>
      <Stack gap={4} mt={6}>
        <Command text={`npx pawl approve ${runId} ${approval.actionId} --digest ${approval.digest}`} />
        <Command text={`npx pawl reject ${runId} ${approval.actionId} --digest ${approval.digest}`} />
      </Stack>
    </details>
  )
}
