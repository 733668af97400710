/** What the run may be told, as far as its state allows. Each opens a dialog that says first what would happen. */
import { Button, Group } from '@mantine/core'
import type { Run } from '@pawl/client/http'
import { useState } from 'react'
import { useMay } from '../../api.ts'
import { OtherVerbs } from '../../preview/other-verbs.tsx'
import { PreviewDialog } from '../../preview/preview-dialog.tsx'
import { allowedVerbs, verbTitle, type RunVerb } from '../../preview/run-verbs.ts'

export function Verbs({ run }: { readonly run: Run }) {
  const [verb, setVerb] = useState<RunVerb | null>(null)
  if (!useMay('operate')) return null
  return (
    <Group gap="xs">
      {allowedVerbs(run).map((each) => {
        const isHard = each === 'cancel' || each === 'compensate'
        return <Button key={each} size="xs" {...(isHard ? { variant: 'light', color: 'red' } : { variant: 'default' })} onClick={() => setVerb(each)}>{verbTitle[each]}…</Button>
      })}
      <OtherVerbs run={run} />
      {verb !== null && <PreviewDialog run={run} verb={verb} onClose={() => setVerb(null)} />}
    </Group>
  )
}
