/** How fast the run goes, and when it would be done at that. */
import { Paper, Text, Title } from '@mantine/core'
import type { Pace as PaceAnswer, Run } from '@pawl/client/http'
import { isEndedRun } from '@pawl/core'
import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api.ts'
import { calmMs } from '../../queries.ts'
import { lasted, number, plural } from '../../words.ts'

const minutes = 60

export function Pace({ run }: { readonly run: Run }) {
  const api = useApi()
  const isEnded = isEndedRun(run.status)
  const { data: pace } = useQuery({ queryKey: ['run', run.id, 'pace'], queryFn: () => api.pace(run.id, { minutes }), refetchInterval: isEnded ? false : calmMs })
  return (
    <Paper withBorder p="md" component="section" aria-label="Pace">
      <Title order={2} mb="xs">Pace</Title>
      {pace === undefined ? <Text size="sm" c="dimmed">…</Text> : (
        <>
          <Text size="sm">{sentenceOf(run, pace, isEnded)}</Text>
          <Bars pace={pace} />
        </>
      )}
    </Paper>
  )
}

/** Whole minutes only: the one under way is not over. */
export function perMinuteOf({ perMinute }: PaceAnswer): number {
  const whole = perMinute.slice(0, -1).slice(-5)
  return whole.length === 0 ? (perMinute.at(-1)?.done ?? 0) : Math.round(whole.reduce((sum, { done }) => sum + done, 0) / whole.length)
}

function sentenceOf(run: Run, pace: PaceAnswer, isEnded: boolean): string {
  if (isEnded) return run.startedAt === null || run.finishedAt === null ? 'Ended.' : `Ended after ${lasted(Math.max(1, run.finishedAt.getTime() - run.startedAt.getTime()))}.`
  const rate = `${plural(perMinuteOf(pace), 'item')} a minute`
  return pace.etaMs === null ? `${rate}; nothing tells when it will be done.` : `${rate}; at that, done in ${lasted(pace.etaMs)}.`
}

const [width, height] = [300, 56]

function Bars({ pace: { perMinute } }: { readonly pace: PaceAnswer }) {
  const most = Math.max(1, ...perMinute.map(({ done }) => done))
  // A run that is young has its few minutes at the right, not one of them across all.
  const slots = Math.max(30, perMinute.length)
  const step = width / slots
  const from = slots - perMinute.length
  return (
    <>
      <svg viewBox={`0 0 ${width} ${height}`} width="100%" height={height} preserveAspectRatio="none" role="img" aria-label={`Items done by the minute over the last hour, ${number(most)} at most`} style={{ display: 'block', marginTop: 10 }}>
        {perMinute.map(({ at, done }, i) => <rect key={at.getTime()} x={(from + i) * step} width={Math.max(1, step - 1)} y={height - (done / most) * height} height={(done / most) * height} fill="var(--pawl-good)"><title>{`${at.toISOString().slice(11, 16)} UTC: ${number(done)}`}</title></rect>)}
        <line x1={0} x2={width} y1={height} y2={height} stroke="var(--mantine-color-default-border)" />
      </svg>
      <Text size="xs" c="dimmed">done by the minute, the last {perMinute.length} min; {number(most)} at most</Text>
    </>
  )
}
