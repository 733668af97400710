/** A run at one glance: a square per item, in the colour of its state. Pointed at or walked over with the keys, it says which; a click opens it. */
import { Anchor, Group, Text, useComputedColorScheme } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import type { Squares as SquaresAnswer } from '@pawl/client/http'
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from 'react'
import { Link, useNavigate } from 'react-router'
import { itemPath } from '../../place.ts'
import { number, words } from '../../words.ts'
import { drawSquares, gridFor, readPalette } from './draw-squares.ts'
import { countStates, readPicture, seqAt, STATES, type Picture } from './picture.ts'

const tallest = 420

export function Squares({ answer }: { readonly answer: SquaresAnswer }) {
  const picture = useMemo(() => readPicture(answer), [answer])
  if (picture.states.length === 0) return null
  return <Board runId={answer.runId} picture={picture} />
}

function Board({ runId, picture }: { readonly runId: string; readonly picture: Picture }) {
  const navigate = useNavigate()
  const scheme = useComputedColorScheme('light', { getInitialValueInEffect: false })
  const { ref: frame, width } = useElementSize<HTMLDivElement>()
  const canvas = useRef<HTMLCanvasElement>(null)
  const scroller = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [cursor, setCursor] = useState<number>()
  const total = picture.states.length
  const grid = useMemo(() => gridFor(total, width), [total, width])
  const whole = grid.rows * grid.cell
  const summary = useMemo(() => summaryOf(picture), [picture])
  const height = Math.min(tallest, whole)

  useEffect(() => {
    const context = canvas.current?.getContext('2d')
    if (canvas.current === null || context === null || context === undefined || width === 0) return
    const ratio = devicePixelRatio
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)]
    // Setting a size clears and makes anew what is behind it, also to the same.
    if (canvas.current.width !== wide) canvas.current.width = wide
    if (canvas.current.height !== high) canvas.current.height = high
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    drawSquares(context, { states: picture.states, grid, top, height, cursor, palette: readPalette(document.documentElement) })
  }, [picture, grid, top, height, width, cursor, scheme])

  const under = (event: PointerEvent): number | undefined => {
    const box = canvas.current?.getBoundingClientRect()
    if (box === undefined) return undefined
    const column = Math.floor((event.clientX - box.left) / grid.cell)
    const index = Math.floor((event.clientY - box.top + top) / grid.cell) * grid.columns + column
    return column >= 0 && column < grid.columns && index >= 0 && index < total ? index : undefined
  }
  const open = (index: number | undefined): void => {
    const seq = index === undefined ? undefined : seqAt(picture, index)
    if (seq !== undefined) void navigate(itemPath(runId, seq))
  }
  const walk = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') return open(cursor)
    const to = nextOf(event.key, cursor, grid.columns, total)
    if (to === undefined) return
    event.preventDefault()
    setCursor(to)
    const y = Math.floor(to / grid.columns) * grid.cell
    if (y < top || y + grid.cell > top + height) scroller.current?.scrollTo({ top: y - height / 2 })
  }
  const told = tell(picture, cursor)

  return (
    <div ref={frame}>
      <div ref={scroller} className="squares" style={{ maxHeight: tallest }} tabIndex={0} role="slider" aria-label="The run’s items, one square each" aria-valuemin={1} aria-valuemax={total} aria-valuenow={(cursor ?? 0) + 1} aria-valuetext={told?.text ?? summary}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)} onKeyDown={walk} onPointerMove={(event) => setCursor(under(event))} onPointerLeave={() => setCursor(undefined)}
        // A finger first asks what is there; the line below opens it.
        onPointerUp={(event) => { if (event.pointerType === 'mouse') open(under(event)); else setCursor(under(event)) }}>
        <div style={{ height: whole }}><canvas ref={canvas} aria-hidden style={{ position: 'sticky', top: 0, display: 'block', width, height }} /></div>
      </div>
      <Group gap="xs" mih={22} mt={4}>
        {told === undefined ? <Text size="xs" c="dimmed">{number(total)} items, in order</Text>
          : <Text size="xs"><Anchor component={Link} to={itemPath(runId, told.seq)} size="xs">Item {told.seq}</Anchor> <span className="dot" data-tone={told.tone} /> {words(told.status)}</Text>}
      </Group>
    </div>
  )
}

function tell(picture: Picture, index: number | undefined) {
  if (index === undefined) return undefined
  const [seq, state] = [seqAt(picture, index), STATES[picture.states[index] ?? -1]]
  return seq === undefined || state === undefined ? undefined : { seq, ...state, text: `Item ${seq}: ${words(state.status)}` }
}

const summaryOf = ({ states }: Picture): string => countStates(states).flatMap((n, state) => (n === 0 ? [] : [`${number(n)} ${words(STATES[state]?.status ?? '')}`])).join(', ')

/** Where a key leads; undefined for keys that are none of ours. */
function nextOf(key: string, from: number | undefined, columns: number, total: number): number | undefined {
  const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, PageUp: -10 * columns, PageDown: 10 * columns, Home: -total, End: total }
  const step = steps[key]
  if (step === undefined) return undefined
  return from === undefined ? 0 : Math.min(total - 1, Math.max(0, from + step))
}
