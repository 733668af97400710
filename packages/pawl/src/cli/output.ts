/** Where a command's words go: people read lines and tables on stdout, scripts one JSON document (or one a line). Remarks go to stderr, out of the way. */
import Table from 'cli-table3'
import colors from 'picocolors'
import { openBar, type Bar } from './bar.ts'
import { plain, plainLines } from './plain.ts'

/** `text` for people, `json` for scripts, `ids` one a line for the next command's `-`. */
export type Format = 'text' | 'json' | 'ids'

export class Output {
  constructor(readonly format: Format) {}

  get isJson(): boolean {
    return this.format === 'json'
  }

  /** For people only. */
  line(text = ''): void {
    if (this.format === 'text') process.stdout.write(`${text}\n`)
  }

  /** For scripts only. */
  emit(value: unknown): void {
    if (this.isJson) process.stdout.write(`${JSON.stringify(value)}\n`)
  }

  /** For pipes only: what the next command takes. */
  id(id: string): void {
    if (this.format === 'ids') process.stdout.write(`${id}\n`)
  }

  bar(format: string): Bar {
    return openBar(format, this.format !== 'json')
  }

  /** Beside the answer, on stderr, as plain text; for people only. */
  remark(text: string): void {
    if (this.format === 'text') process.stderr.write(`${colors.dim(plainLines(text))}\n`)
  }

  /** Cells are shown as `plain` text; a cell may be coloured by its column's `paint`. */
  table(columns: readonly Column[], rows: readonly (readonly string[])[]): void {
    if (this.format !== 'text') return
    const table = new Table({
      head: columns.map((column) => colors.bold(column.name)), colAligns: columns.map((column) => column.align ?? 'left'),
      chars: bare, style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    })
    for (const row of rows) table.push(row.map((cell, i) => (columns[i]?.paint ?? same)(plain(cell))))
    this.line(table.toString().replaceAll(/ +$/gm, ''))
  }
}

export interface Column {
  readonly name: string
  readonly align?: 'left' | 'right'
  readonly paint?: (text: string) => string
}

const same = (text: string): string => text
const bare = {
  top: '', 'top-mid': '', 'top-left': '', 'top-right': '', bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '',
  left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '',
}
