/** Without users nobody has a password: the way in is a link that only the terminal of the dashboard's owner shows, good for one use. */
import { randomBytes } from 'node:crypto'
import { isEqual } from './seal.ts'

const quietMs = 10_000

export class OneTimeLink {
  #token: string | undefined
  #printedAt = 0
  readonly #print: (url: string) => void
  readonly #login: string

  /** @param login address of the login page; @param print shows a line where only the owner looks. */
  constructor(login: string, print: (url: string) => void) {
    this.#login = login
    this.#print = print
  }

  /** A new link; the one before it is void. Asked again within 10 s it prints nothing: whoever asks may be anybody. */
  issue(): string | undefined {
    if (Date.now() - this.#printedAt < quietMs) return undefined
    this.#printedAt = Date.now()
    this.#token = randomBytes(32).toString('base64url')
    const url = `${this.#login}?link=${this.#token}`
    this.#print(url)
    return url
  }

  /** True once. */
  use(token: string): boolean {
    const isRight = this.#token !== undefined && isEqual(token, this.#token)
    if (isRight) {
      this.#token = undefined
      this.#printedAt = 0
    }
    return isRight
  }
}
