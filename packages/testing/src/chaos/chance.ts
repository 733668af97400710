/** Draws that depend on the seed and on what is drawn for, never on the order of drawing: a run of chaos is replayed as far as timing allows. */
import { createHash } from 'node:crypto'

export type Part = string | number

export class Chance {
  constructor(readonly seed: number) {}

  /** In [0, 1), the same for the same seed and parts. */
  draw(...parts: readonly Part[]): number {
    return createHash('sha256').update(`${this.seed}|${parts.join('|')}`).digest().readUInt32BE(0) / 2 ** 32
  }

  happens(probability: number, ...parts: readonly Part[]): boolean {
    return this.draw(...parts) < probability
  }

  /** A whole number from `least` to `most`. */
  between(least: number, most: number, ...parts: readonly Part[]): number {
    return least + Math.floor(this.draw(...parts) * (most - least + 1))
  }

  pick<T>(from: readonly [T, ...T[]], ...parts: readonly Part[]): T {
    return from[Math.floor(this.draw(...parts) * from.length)] ?? from[0]
  }
}
