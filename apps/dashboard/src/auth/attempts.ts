/** A pause for whoever guesses passwords: ten wrong ones per address and minute. Behind a proxy all share one address, so it is a minute, not a lock. */
const most = 10
const windowMs = 60_000

export class Attempts {
  readonly #wrong = new Map<string, { count: number; until: number }>()

  isAllowed(address: string): boolean {
    const found = this.#wrong.get(address)
    return found === undefined || found.until < Date.now() || found.count < most
  }

  addWrong(address: string): void {
    const now = Date.now()
    for (const [known, { until }] of this.#wrong) if (until < now) this.#wrong.delete(known)
    const found = this.#wrong.get(address)
    if (found === undefined) this.#wrong.set(address, { count: 1, until: now + windowMs })
    else found.count += 1
  }
}
