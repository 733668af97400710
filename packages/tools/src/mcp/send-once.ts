/**
 * Carries one call's permission to be written down to the transport, where the bytes leave. The client library repeats requests in several
 * cases (new credentials, header mismatch, redirects within an origin); below the ledger nothing may, so the second write is refused here.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

export class SendOnce {
  #isWritten = false
  /** Rejects when the transport knows that no answer can come any more. */
  readonly lost: Promise<never>
  readonly lose: (error: Error) => void

  /** @param guard throws `NotSent` when nothing may be sent any more. */
  constructor(readonly guard: () => void) {
    let lose: (error: Error) => void = () => {}
    this.lost = new Promise<never>((_, reject) => { lose = reject })
    this.lost.catch(() => {})
    this.lose = lose
  }

  get isWritten(): boolean {
    return this.#isWritten
  }

  /** Call it in the tick of the write. */
  pass(): void {
    if (this.#isWritten) throw new Error('The client wanted to send this call a second time. Pawl never repeats a call below the ledger.')
    this.guard()
    this.#isWritten = true
  }
}

/** The call that is being sent in this asynchronous context. */
export const sending = new AsyncLocalStorage<SendOnce>()

/** `tools/call` is what has effects; everything else of the protocol (handshake, lists, pings) may be repeated. */
export const isToolCall = (message: unknown): boolean => (message as { method?: unknown } | null)?.method === 'tools/call'

/** The permission of a message about to be written: undefined where none is needed. Throws for a tool call nobody permitted. */
export function permissionFor(message: unknown): SendOnce | undefined {
  if (!isToolCall(message)) return undefined
  const permission = sending.getStore()
  if (!permission) throw new Error('A tool call without its permission: it was not sent.')
  return permission
}
