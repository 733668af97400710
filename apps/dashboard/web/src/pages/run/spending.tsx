import type { Run } from '@pawl/client/http'
import { isEndedRun } from '@pawl/core'
import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api.ts'
import { calmMs } from '../../queries.ts'
import { number, plural } from '../../words.ts'
import { Fact } from './fact.tsx'

const inDollars = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', minimumFractionDigits: 2, maximumFractionDigits: 4 })

/** What the run's models took. Nothing is said of a run without any. */
export function Spending({ run }: { readonly run: Run }) {
  const api = useApi()
  const { data: spent } = useQuery({ queryKey: ['run', run.id, 'spent'], queryFn: () => api.spent(run.id), refetchInterval: isEndedRun(run.status) ? false : calmMs })
  if (spent === undefined || spent.turns === 0) return null
  return <Fact name="Models took">{inDollars.format(spent.costMicros / 1_000_000)} · {number(spent.tokens)} tokens · {plural(spent.turns, 'turn')}</Fact>
}
