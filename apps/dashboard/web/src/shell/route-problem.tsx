import { Anchor, Stack } from '@mantine/core'
import { useRouteError } from 'react-router'
import { base } from '../place.ts'
import { Problem } from '../ui/problem.tsx'

/** A page that broke. A page whose code is gone was replaced by a newer build: loading it anew brings that. */
export function RouteProblem() {
  const error = useRouteError()
  return (
    <Stack>
      <Problem error={error} title="This page failed" onRetry={() => location.reload()} />
      <Anchor href={`${base}/`}>To the runs</Anchor>
    </Stack>
  )
}
