/**
 * How many attempts a process works on at once. A suspect (an item whose attempts keep ending without a word) takes the whole process,
 * so that if it kills the process again it condemns nobody but itself. Whoever comes meanwhile waits behind it, but not for ever: an attempt
 * that hangs, or a suspect that takes hours, would stop the whole process. A suspect waits so long at most for an empty process, then takes
 * a slot like any other; and so long at most an empty process is its own.
 */
interface Waiting {
  alone: boolean
  readonly patienceMs: number
  readonly start: (release: () => void) => void
}

export class Slots {
  #taken = 0
  #isOneAlone = false
  readonly #waiting: Waiting[] = []

  constructor(private readonly size: number) {}

  async take(): Promise<() => void> {
    return await new Promise((start) => this.#enqueue({ alone: false, patienceMs: 0, start }))
  }

  /** @param patienceMs how long others may be kept waiting: for the process to be empty, and then once more while it is this one's alone. */
  async takeAlone(patienceMs: number): Promise<() => void> {
    return await new Promise((resolve) => {
      const waiting: Waiting = { alone: true, patienceMs, start: (release) => { clearTimeout(patience); resolve(release) } }
      const patience = setTimeout(() => {
        waiting.alone = false
        this.#next()
      }, patienceMs)
      this.#enqueue(waiting)
    })
  }

  #enqueue(waiting: Waiting): void {
    this.#waiting.push(waiting)
    this.#next()
  }

  #next(): void {
    for (;;) {
      const first = this.#waiting[0]
      if (!first || this.#isOneAlone || this.#taken >= this.size || (first.alone && this.#taken > 0)) return
      this.#waiting.shift()
      this.#taken++
      const share = first.alone ? this.#beAlone(first.patienceMs) : () => {}
      first.start(once(() => {
        this.#taken--
        share()
        this.#next()
      }))
    }
  }

  /** Returns how to share the process again; it happens by itself after the patience. */
  #beAlone(patienceMs: number): () => void {
    this.#isOneAlone = true
    const share = once(() => {
      clearTimeout(patience)
      this.#isOneAlone = false
      this.#next()
    })
    const patience = setTimeout(share, patienceMs).unref()
    return share
  }
}

const once = (act: () => void): (() => void) => {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    act()
  }
}
