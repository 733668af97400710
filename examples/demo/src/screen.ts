/** What a person sees: lines of what happens, and one bar that stays below them. With `--json`, everything goes to stderr and the last line to stdout. */
import { MultiBar, type SingleBar } from 'cli-progress'
import colors from 'picocolors'
import type { Moment } from './facts.ts'

export class Screen {
  #bars: MultiBar | undefined
  #bar: SingleBar | undefined

  constructor(private readonly options: { readonly json: boolean; readonly verbose: boolean }) {}

  say(line: string): void {
    const text = `${colors.dim(new Date().toISOString().slice(11, 19))} ${line}\n`
    if (this.#bars) this.#bars.log(text)
    else process.stderr.write(text)
  }

  detail(line: string): void {
    if (this.options.verbose) this.say(colors.dim(line))
  }

  begin(title: string): void {
    this.say(colors.bold(title))
    if (this.options.json || !process.stderr.isTTY) return
    this.#bars = new MultiBar({ format: '{bar} {value}/{total} items done · {actions} actions · {failed} failed · {blocked} blocked · {kills} kills', hideCursor: true, clearOnComplete: false, stream: process.stderr })
  }

  progress(moment: Moment, kills: number): void {
    if (!this.#bars || moment.total === 0) return
    const shown = { actions: moment.committed, failed: moment.failed, blocked: moment.blocked, kills }
    this.#bar ??= this.#bars.create(moment.total, 0, shown)
    this.#bar.update(moment.done, shown)
  }

  end(): void {
    this.#bars?.stop()
    this.#bars = undefined
    this.#bar = undefined
  }
}
