/**
 * Draws the visible part of a picture. Neighbours of one state are one rectangle, and the gaps between squares are lines over them: a run
 * that goes well is a few hundred strokes, however many items it has.
 */
import { STATES } from './picture.ts'

export interface Grid {
  /** Of one square with its gap, in pixels of the page. */
  readonly cell: number
  readonly columns: number
  readonly rows: number
}

/** The more there is, the smaller; never so small that one square cannot be told from the next. */
export function gridFor(total: number, width: number): Grid {
  const cell = total <= 600 ? 16 : total <= 3_000 ? 12 : total <= 15_000 ? 8 : total <= 50_000 ? 6 : 5
  const columns = Math.max(1, Math.floor(width / cell))
  return { cell, columns, rows: Math.ceil(total / columns) }
}

export interface Palette {
  /** By state. */
  readonly fills: readonly string[]
  readonly ground: string
  readonly cursor: string
}

export interface Frame {
  readonly states: Uint8Array
  readonly grid: Grid
  /** Scrolled down by, and seen of it. */
  readonly top: number
  readonly height: number
  readonly cursor: number | undefined
  readonly palette: Palette
}

export function drawSquares(context: CanvasRenderingContext2D, { states, grid, top, height, cursor, palette }: Frame): void {
  const { cell, columns, rows } = grid
  const width = columns * cell
  context.fillStyle = palette.ground
  context.fillRect(0, 0, context.canvas.width, context.canvas.height)
  const firstRow = Math.max(0, Math.floor(top / cell))
  const lastRow = Math.min(rows, Math.ceil((top + height) / cell))
  for (let row = firstRow; row < lastRow; row++) {
    const y = row * cell - top
    const from = row * columns
    const to = Math.min(states.length, from + columns)
    for (let i = from; i < to;) {
      const state = states[i] ?? 0
      let end = i + 1
      while (end < to && states[end] === state) end++
      context.fillStyle = palette.fills[state] ?? palette.ground
      context.fillRect((i - from) * cell, y, (end - i) * cell, cell)
      i = end
    }
  }
  context.fillStyle = palette.ground
  for (let column = 1; column <= columns; column++) context.fillRect(column * cell - 1, 0, 1, height)
  for (let row = firstRow; row <= lastRow; row++) context.fillRect(0, row * cell - top - 1, width, 1)
  if (cursor === undefined || cursor >= states.length) return
  context.strokeStyle = palette.cursor
  context.lineWidth = 2
  context.strokeRect((cursor % columns) * cell - 0.5, Math.floor(cursor / columns) * cell - top - 0.5, cell, cell)
}

export function readPalette(root: Element): Palette {
  const style = getComputedStyle(root)
  const read = (name: string): string => style.getPropertyValue(name).trim()
  return { fills: STATES.map(({ tone }) => read(`--pawl-${tone}`)), ground: read('--mantine-color-body'), cursor: read('--mantine-color-text') }
}
