/** What may be asked of a run beside its verbs: another agent version, another budget. Whoever may not is shown neither. */
import { Button } from '@mantine/core'
import { isEndedRun } from '@pawl/core'
import type { Run } from '@pawl/client/http'
import { useState } from 'react'
import { useMay } from '../api.ts'
import { BudgetDialog } from './budget-dialog.tsx'
import { RepinDialog } from './repin-dialog.tsx'

export function OtherVerbs({ run }: { readonly run: Run }) {
  const mayAct = useMay('operate')
  const [open, setOpen] = useState<'repin' | 'budget'>()
  if (!mayAct) return null
  const close = (): void => setOpen(undefined)
  return (
    <>
      {run.status !== 'compensated' && <Button size="xs" variant="default" onClick={() => setOpen('repin')}>Move to version…</Button>}
      {!isEndedRun(run.status) && <Button size="xs" variant="default" onClick={() => setOpen('budget')}>Budget…</Button>}
      {open === 'repin' && <RepinDialog run={run} onClose={close} />}
      {open === 'budget' && <BudgetDialog run={run} onClose={close} />}
    </>
  )
}
