/** Thrown by the guard: the send window is over, or the attempt was stopped, so nothing was sent. The bracket records `unsent`. */
export class NotSent extends Error {
  override readonly name = 'NotSent'
}
