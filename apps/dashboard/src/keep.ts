/** Answers several pages ask for at once, kept for a moment: ten open browsers are one question. An answer that failed is not kept. */
export function keepFor<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
  let kept: { readonly until: number; readonly answer: Promise<T> } | undefined
  return () => {
    if (kept !== undefined && kept.until > Date.now()) return kept.answer
    const answer = ask()
    const mine = { until: Date.now() + ms, answer }
    kept = mine
    answer.catch(() => { if (kept === mine) kept = undefined })
    return answer
  }
}
