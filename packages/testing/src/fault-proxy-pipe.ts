/** One direction of one proxied connection: bytes, the end and a reset, in order, each when it is due and nothing is held. */
import type { Socket } from 'node:net'

type Piece = { readonly what: Buffer | 'end' | 'reset'; readonly dueAt: number }

/** So much waits here at most; the rest waits in the sender's socket, as it would behind a slow network. */
const mostBytes = 1_000_000

export class FaultPipe {
  #pieces: Piece[] = []
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #isFull = false
  #hasEnded = false

  /** @param latencyMs asked for each piece when it arrives. */
  constructor(private readonly from: Socket, private readonly to: Socket, private readonly isHeld: () => boolean, private readonly latencyMs: () => number) {
    from.on('data', (bytes: Buffer) => this.#add(bytes))
    from.on('end', () => {
      this.#hasEnded = true
      this.#add('end')
    })
    // After an orderly end the other direction closes by itself.
    from.on('close', (hadError) => { if (hadError || !this.#hasEnded) this.#add('reset') })
    to.on('drain', () => {
      this.#isFull = false
      this.update()
    })
    this.update()
  }

  #add(what: Piece['what']): void {
    this.#pieces.push({ what, dueAt: performance.now() + this.latencyMs() })
    if (typeof what !== 'string') this.#bytes += what.length
    this.update()
  }

  /** Passes on what is due. Call it when `isHeld` may have changed. */
  update(): void {
    clearTimeout(this.#timer)
    while (!this.isHeld() && !this.#isFull) {
      const [next] = this.#pieces
      if (!next) break
      const waitMs = next.dueAt - performance.now()
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.update(), Math.ceil(waitMs))
        break
      }
      this.#pieces.shift()
      this.#pass(next.what)
    }
    if (this.isHeld() || this.#bytes > mostBytes) this.from.pause()
    else this.from.resume()
  }

  #pass(what: Piece['what']): void {
    if (this.to.destroyed) return
    if (what === 'end') this.to.end()
    else if (what === 'reset') this.to.resetAndDestroy()
    else {
      this.#bytes -= what.length
      this.#isFull = !this.to.write(what)
    }
  }

  /** What waits here is lost. */
  drop(): void {
    clearTimeout(this.#timer)
    this.#pieces = []
    this.#bytes = 0
  }
}
