/**
 * A pause for whoever guesses passwords: ten per address and minute. Behind a proxy all share one address, so it is a minute, not a lock.
 * An attempt is counted before its password is looked at, which takes a while: counted afterwards, a hundred at once would all be looked at.
 */
const most = 10
const windowMs = 60_000

export class Attempts {
  readonly #taken = new Map<string, { count: number; until: number }>()

  /** False: too many, and the password must not be looked at. */
  take(address: string): boolean {
    const now = Date.now()
    for (const [known, { until }] of this.#taken) if (until < now) this.#taken.delete(known)
    const found = this.#taken.get(address) ?? { count: 0, until: now + windowMs }
    if (found.count >= most) return false
    this.#taken.set(address, { ...found, count: found.count + 1 })
    return true
  }

  /** The password was right: nobody was guessing. */
  giveBack(address: string): void {
    const found = this.#taken.get(address)
    if (found !== undefined) this.#taken.set(address, { ...found, count: found.count - 1 })
  }
}
