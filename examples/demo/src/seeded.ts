/** Random numbers from 0 to 1 that are the same for the same seed: a linear congruential generator, good enough to choose victims. */
export function seeded(seed: number): () => number {
  let state = (Math.imul(seed, 2_654_435_761) + 1) >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
