/**
 * Which agent versions have had no live process for a while. Kept in the sweeper's memory and counted anew by the next one: a deploy that replaces
 * every process, the sweeper among them, is no absence, and what is blocked too late costs nothing. Pure over the clock it is given.
 */
export class Unserved {
  readonly #since = new Map<string, number>()

  constructor(private readonly graceMs: number, private readonly nowMs: () => number = () => performance.now()) {}

  /** @param seen what nobody serves now. Returns what nobody has served for longer than the grace. */
  note<V extends { readonly agent: string; readonly version: string }>(seen: readonly V[]): V[] {
    const names = new Map(seen.map((each) => [`${each.agent}@${each.version}`, each]))
    for (const name of this.#since.keys()) if (!names.has(name)) this.#since.delete(name)
    const now = this.nowMs()
    return [...names].filter(([name]) => {
      const since = this.#since.get(name) ?? now
      this.#since.set(name, since)
      return now - since >= this.graceMs
    }).map(([, each]) => each)
  }
}
