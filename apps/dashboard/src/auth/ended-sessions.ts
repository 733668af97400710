/**
 * Sessions that were logged out: void from then on, also for whoever has kept the cookie. The cookie itself cannot be called back.
 * Kept in memory until it would have run out anyway; a restart forgets, and then a kept cookie is good for the rest of its twelve hours.
 */
export class EndedSessions {
  readonly #until = new Map<string, number>()

  add(id: string, until: number): void {
    const now = Date.now()
    for (const [known, end] of this.#until) if (end < now) this.#until.delete(known)
    this.#until.set(id, until)
  }

  has(id: string): boolean {
    return this.#until.has(id)
  }
}
