/**
 * How many attempts a process works on at once. A suspect (an item whose attempts keep ending without a word) takes the whole process,
 * so that if it kills the process again it condemns nobody but itself. Whoever comes meanwhile waits behind it until the process is empty, but not
 * for ever: an agent that hangs would stop the whole process. After its patience the suspect takes a slot like any other.
 */
interface Waiting {
  alone: boolean
  readonly start: (alone: boolean) => void
}

export class Slots {
  #taken = 0
  #alone = false
  readonly #waiting: Waiting[] = []

  constructor(private readonly size: number) {}

  take(): Promise<() => void> {
    return this.#wait(false).slot
  }

  /** The whole process, or after `patienceMs` a slot like any other. */
  async takeAlone(patienceMs: number): Promise<() => void> {
    const waiting = this.#wait(true)
    const patience = setTimeout(() => {
      waiting.alone = false
      this.#next()
    }, patienceMs)
    return await waiting.slot.finally(() => clearTimeout(patience))
  }

  #wait(alone: boolean): Waiting & { readonly slot: Promise<() => void> } {
    let start: Waiting['start'] = () => {}
    const slot = new Promise<() => void>((resolve) => { start = (isAlone) => resolve(this.#release(isAlone)) })
    const waiting = { alone, start, slot }
    this.#waiting.push(waiting)
    this.#next()
    return waiting
  }

  #release(alone: boolean): () => void {
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.#taken--
      if (alone) this.#alone = false
      this.#next()
    }
  }

  #next(): void {
    for (;;) {
      const first = this.#waiting[0]
      if (!first || this.#alone || this.#taken >= this.size || (first.alone && this.#taken > 0)) return
      this.#waiting.shift()
      this.#taken++
      if (first.alone) this.#alone = true
      first.start(first.alone)
    }
  }
}
