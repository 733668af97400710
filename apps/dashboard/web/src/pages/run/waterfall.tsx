import { Anchor, Text } from '@mantine/core'
import type { Action, Run } from '@pawl/client/http'
import { isEndedRun, visibleText } from '@pawl/core'
import { useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useMemo, useRef } from 'react'
import { Link } from 'react-router'
import { useApi } from '../../api.ts'
import { itemPath } from '../../place.ts'
import { calmMs } from '../../queries.ts'
import type { Tone } from '../../theme.ts'
import { Visible } from '../../ui/visible.tsx'
import { useNow } from '../../ui/when.tsx'
import { lasted, toneOf, words } from '../../words.ts'
import { endOf, isUnderWay, placeOf, rowsOf, spanOf, type Span } from './timeline-rows.ts'

const rowHeight = 28

export function Waterfall({ run, actions }: { readonly run: Run; readonly actions: readonly Action[] }) {
  const now = useNow()
  const rows = useMemo(() => rowsOf(actions), [actions])
  const span = spanOf(actions, now)
  const scroller = useRef<HTMLDivElement>(null)
  const virtualizer = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => rowHeight, overscan: 10 })
  return (
    <>
      <Text size="xs" c="dimmed">{new Date(span.from).toISOString().slice(0, 19).replace('T', ' ')} UTC, {lasted(span.to - span.from)} from left to right</Text>
      <div ref={scroller} className="virtual" role="table" aria-label="Calls" aria-rowcount={rows.length} tabIndex={0}>
        <div role="rowgroup" style={{ height: virtualizer.getTotalSize(), position: 'relative' }}>
          {virtualizer.getVirtualItems().map(({ key, index, start }) => {
            const row = rows[index]
            if (row === undefined) return null
            return (
              <div key={key} role="row" aria-rowindex={index + 1} className="waterfall-row" data-kind={row.kind} style={{ position: 'absolute', top: 0, transform: `translateY(${start}px)`, height: rowHeight }}>
                {row.kind === 'item' ? <ItemCells run={run} seq={row.seq} calls={row.calls} span={span} /> : <CallCells action={row.action} span={span} now={now} />}
              </div>
            )
          })}
        </div>
      </div>
    </>
  )
}

const attemptTone = (ended: string | null): Tone =>
  ended === null ? 'busy' : ended === 'done' ? 'good' : /lease|crash|killed/.test(ended) ? 'bad' : ended.startsWith('blocked') ? 'warn' : ended === 'failed' ? 'bad' : 'quiet'

/** An attempt that was lost: its worker is gone, or the lease ran out. */
const isLost = (ended: string | null): boolean => ended !== null && /lease|crash|killed/.test(ended)

function ItemCells({ run, seq, calls, span }: { readonly run: Run; readonly seq: number; readonly calls: number; readonly span: Span }) {
  const api = useApi()
  const { data } = useQuery({ queryKey: ['run', run.id, 'attempts', seq], queryFn: () => api.attempts(run.id, seq), staleTime: calmMs, refetchInterval: isEndedRun(run.status) ? false : calmMs })
  const attempts = data?.entries ?? []
  return (
    <>
      <span role="cell"><Anchor component={Link} to={itemPath(run.id, seq)} size="sm" fw={600}>Item {seq}</Anchor> <Text span size="xs" c="dimmed">{calls} {calls === 1 ? 'call' : 'calls'}{attempts.length > 1 && `, ${attempts.length} attempts`}</Text></span>
      <span role="cell" className="track">
        {attempts.map(({ epoch, startedAt, workerId, ended }, i) => {
          const text = `Attempt ${i + 1} on ${visibleText(workerId)}: ${ended ?? 'at work'}`
          return <span key={epoch} className="attempt" data-tone={attemptTone(ended)} style={{ left: `${placeOf(startedAt.getTime(), span)}%` }} title={text} role="img" aria-label={text}>{isLost(ended) ? '✕' : '▾'}</span>
        })}
      </span>
    </>
  )
}

function CallCells({ action, span, now }: { readonly action: Action; readonly span: Span; readonly now: number }) {
  const [from, to] = [placeOf(action.startedAt.getTime(), span), placeOf(endOf(action, now), span)]
  const text = `${visibleText(action.tool)}: ${words(action.status)}, ${isUnderWay(action) ? `for ${lasted(now - action.startedAt.getTime())}` : lasted(endOf(action, now) - action.startedAt.getTime())}${action.sends > 1 ? `, sent ${action.sends} times` : ''}`
  return (
    <>
      <span role="cell" title={visibleText(action.key)}><Text span size="xs"><Visible text={action.tool} /></Text>{action.undoes !== null && <Text span size="xs" c="dimmed"> undoes {action.undoes}</Text>}</span>
      <span role="cell" className="track"><span className="call" data-tone={toneOf(action.status)} style={{ left: `${from}%`, width: `${Math.max(0, to - from)}%` }} title={text} role="img" aria-label={text} /></span>
    </>
  )
}
