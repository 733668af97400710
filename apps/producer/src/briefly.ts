/** Keeps an answer for a moment: twenty open pages that ask for the same picture of a run every second are one question to the ledger. */

const mostKept = 200

/** The kept answer of `key`, or the one `ask` gives. A failed one is kept for nobody. */
export function briefly<T>(forMs: number): (key: string, ask: () => Promise<T>) => Promise<T> {
  const kept = new Map<string, { answer: Promise<T>; until: number }>()
  return async (key, ask) => {
    const now = performance.now()
    const known = kept.get(key)
    if (known !== undefined && known.until > now) return await known.answer
    for (const [name, each] of kept) if (each.until <= now || kept.size >= mostKept) kept.delete(name)
    const answer = ask()
    const entry = { answer, until: Number.POSITIVE_INFINITY }
    kept.set(key, entry)
    // From when it is there: a slow answer is shared by everybody who waits for it.
    const forget = (): void => { if (kept.get(key) === entry) kept.delete(key) }
    answer.then(() => { entry.until = performance.now() + forMs }, forget)
    return await answer
  }
}
