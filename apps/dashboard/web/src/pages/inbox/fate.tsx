/** It no longer waits, and it was not this page that answered: what became of it, as the ledger has it. */
import { Alert } from '@mantine/core'
import type { InboxItem } from '@pawl/client/http'
import { useQuery } from '@tanstack/react-query'
import { Anchor } from '@mantine/core'
import { Link } from 'react-router'
import { useApi } from '../../api.ts'
import { itemPath } from '../../place.ts'
import { Status } from '../../ui/status.tsx'
import { Visible } from '../../ui/visible.tsx'

export function Fate({ entry }: { readonly entry: InboxItem }) {
  const api = useApi()
  const { runId, itemSeq } = entry
  const actionId = entry.kind === 'approval' ? entry.approval.actionId : entry.kind === 'in_doubt' ? entry.action.id : undefined
  const { data } = useQuery({
    queryKey: ['fate', runId, itemSeq, actionId],
    queryFn: async () => {
      const [item, action] = await Promise.all([api.getItem(runId, itemSeq), actionId === undefined ? undefined : api.getAction(runId, actionId)])
      return { item, action }
    },
    refetchInterval: 3_000,
  })
  return (
    <Alert color="gray" title="It no longer waits" role="status" data-fate>
      Somebody answered it, or its run moved on. {data?.action !== undefined && <>The call is now <Status name={data.action.status} />{data.action.settledBy === null ? '' : <>, settled by <Visible text={data.action.settledBy} /></>}. </>}
      {data !== undefined && <>The item is <Status name={data.item.status} />. </>}
      <Anchor component={Link} to={itemPath(runId, itemSeq)} inherit>See the item</Anchor>
    </Alert>
  )
}
