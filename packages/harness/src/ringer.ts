/** Dispatch of a run after something of it changed, at most once per run at a time and per interval; the last change is never missed. */
import { dispatchRun, type DispatchParts } from './dispatch.ts'

const intervalMs = 25

export class Ringer {
  readonly #runs = new Map<string, 'waiting' | 'busy' | 'again'>()
  #isClosed = false

  constructor(private readonly parts: DispatchParts, private readonly onError: (error: unknown, runId: string) => void) {}

  touch(runId: string): void {
    if (this.#isClosed) return
    const state = this.#runs.get(runId)
    if (state === 'busy') this.#runs.set(runId, 'again')
    if (state !== undefined) return
    this.#runs.set(runId, 'waiting')
    setTimeout(() => void this.#run(runId), intervalMs)
  }

  async #run(runId: string): Promise<void> {
    this.#runs.set(runId, 'busy')
    try {
      if (!this.#isClosed) await dispatchRun(this.parts, runId)
    } catch (error) {
      this.onError(error, runId)
    }
    const isAgain = this.#runs.get(runId) === 'again'
    this.#runs.delete(runId)
    if (isAgain) this.touch(runId)
  }

  close(): void {
    this.#isClosed = true
  }
}
