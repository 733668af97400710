/** `pawl dev` on a terminal: one screen, drawn anew in place. What is on it is text of lines; this file knows nothing of where they come from. */
import { stripVTControlCharacters } from 'node:util'

export interface Screen {
  draw(lines: readonly string[]): void
  /** Leaves the last picture standing and the cursor below it. */
  end(): void
}

export function openScreen(terminal: NodeJS.WriteStream = process.stdout): Screen {
  let last: readonly string[] = []
  let isOpen = true
  const write = (): void => {
    // A terminal that does not know its size says 0.
    const [rows, columns] = [terminal.rows > 0 ? terminal.rows : 24, terminal.columns > 0 ? terminal.columns : 80]
    const shown = last.slice(0, rows - 1).map((line) => fit(line, columns))
    // Home, each line cleared to its end, then everything below: nothing flickers.
    terminal.write(`\u001b[H${shown.map((line) => `${line}\u001b[K`).join('\n')}\n\u001b[J`)
  }
  const resized = (): void => { if (isOpen) write() }
  terminal.write('\u001b[?25l\u001b[2J')
  terminal.on('resize', resized)
  return {
    draw(lines) {
      last = lines
      if (isOpen) write()
    },
    end() {
      if (!isOpen) return
      isOpen = false
      terminal.off('resize', resized)
      terminal.write('\u001b[?25h')
    },
  }
}

/** Cut to the width: a line that wraps would push the last ones out. Colours count nothing; a cut line ends without them. */
function fit(line: string, columns: number): string {
  const bare = stripVTControlCharacters(line)
  if (Array.from(bare).length <= columns) return line
  return `${Array.from(bare).slice(0, columns - 1).join('')}…`
}
