/**
 * How many attempts a process works on at once. A suspect (an item whose attempts keep ending without a word) takes the whole process,
 * so that if it kills the process again it condemns nobody but itself.
 */
export class Slots {
  #taken = 0
  #alone = false
  readonly #waiting: { readonly alone: boolean; readonly start: () => void }[] = []

  constructor(private readonly size: number) {}

  take(): Promise<() => void> {
    return this.#wait(false)
  }

  takeAlone(): Promise<() => void> {
    return this.#wait(true)
  }

  #wait(alone: boolean): Promise<() => void> {
    return new Promise((resolve) => {
      this.#waiting.push({ alone, start: () => resolve(this.#release(alone)) })
      this.#next()
    })
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
      first.start()
    }
  }
}
