/**
 * One attempt's slot: held, given back while calls wait (several may wait at once), taken again when the last of them is through.
 * Ended, it gives back what it has and what it was still waiting for.
 */
export class SlotHolder {
  #waits = 0
  #isEnded = false
  #taking: Promise<void> | undefined
  #release: (() => void) | undefined

  /** @param release gives back the slot held now. @param take asks for another. */
  constructor(release: () => void, private readonly take: () => Promise<() => void>) {
    this.#release = release
  }

  /** Resolves when `wait` is over and, unless `isOver`, a slot is held again. */
  async without(wait: Promise<unknown>, isOver: () => boolean): Promise<void> {
    this.#waits++
    this.#giveBack()
    try {
      await wait
    } finally {
      this.#waits--
    }
    if (this.#waits === 0 && this.#release === undefined && !this.#isEnded && !isOver()) await (this.#taking ??= this.#takeAgain())
  }

  end(): void {
    this.#isEnded = true
    this.#giveBack()
  }

  async #takeAgain(): Promise<void> {
    const release = await this.take()
    this.#taking = undefined
    this.#release = release
    // Another call began to wait, or the attempt ended, while this one stood in line.
    if (this.#waits > 0 || this.#isEnded) this.#giveBack()
  }

  #giveBack(): void {
    this.#release?.()
    this.#release = undefined
  }
}
