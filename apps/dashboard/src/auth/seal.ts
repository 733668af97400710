/** Small values that come back from a browser: signed for one purpose, so that a value made for one cannot pass for another. */
import { createHmac, timingSafeEqual } from 'node:crypto'

export interface Seal {
  /** Text of the value with its signature. */
  close(purpose: string, value: unknown): string
  /** The value again; undefined when it is not one of ours. */
  open(purpose: string, text: string | undefined): unknown
  /** A token that belongs to `subject`, for forms. */
  token(purpose: string, subject: string): string
  isToken(purpose: string, subject: string, given: string | undefined): boolean
}

export function createSeal(secret: string): Seal {
  const sign = (purpose: string, text: string): string => createHmac('sha256', secret).update(`${purpose}\n${text}`).digest('base64url')
  return {
    close(purpose, value) {
      const text = Buffer.from(JSON.stringify(value)).toString('base64url')
      return `${text}.${sign(purpose, text)}`
    },
    open(purpose, sealed) {
      const [text, signature, ...more] = sealed?.split('.') ?? []
      if (text === undefined || signature === undefined || more.length > 0 || !isEqual(signature, sign(purpose, text))) return undefined
      return JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown
    },
    token: sign,
    isToken: (purpose, subject, given) => given !== undefined && isEqual(given, sign(purpose, subject)),
  }
}

export function isEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
