/** A service whose successor starts when it has stopped, since both want the same port or the same work. One replacement at a time. */
export class Replaceable<T> {
  #current: T
  #turn: Promise<unknown> = Promise.resolve()
  #isStopped = false

  private constructor(current: T, private readonly start: (before: T | undefined) => Promise<T>, private readonly end: (service: T) => Promise<unknown>) {
    this.#current = current
  }

  static async start<T>(start: (before: T | undefined) => Promise<T>, end: (service: T) => Promise<unknown>): Promise<Replaceable<T>> {
    return new Replaceable(await start(undefined), start, end)
  }

  get current(): T {
    return this.#current
  }

  replace(): Promise<void> {
    return this.#after(async () => {
      if (this.#isStopped) return
      await this.end(this.#current)
      this.#current = await this.start(this.#current)
    })
  }

  stop(): Promise<void> {
    return this.#after(async () => {
      this.#isStopped = true
      await this.end(this.#current)
    })
  }

  #after(work: () => Promise<void>): Promise<void> {
    const mine = this.#turn.then(work)
    this.#turn = mine.catch(() => undefined)
    return mine
  }
}
