/** Passwords as scrypt keeps them: `scrypt.<salt>.<hash>`, base64url. One at a time, so that a flood of logins takes no more than one core and 32 MB. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

const cost = { N: 32_768, r: 8, p: 3, maxmem: 64 * 1024 * 1024 } as const
const bytes = 32
const pattern = /^scrypt\.([\w-]{16,}={0,2})\.([\w-]{43})$/

export const isPasswordHash = (text: string): boolean => pattern.test(text)

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  return `scrypt.${salt.toString('base64url')}.${(await derive(password, salt)).toString('base64url')}`
}

/** Takes as long for a hash that is undefined, so that nobody learns which names exist. */
export async function checkPassword(password: string, passwordHash: string | undefined): Promise<boolean> {
  const [, salt, hash] = pattern.exec(passwordHash ?? '') ?? []
  const found = await derive(password, Buffer.from(salt ?? 'nobody', 'base64url'))
  return hash !== undefined && timingSafeEqual(found, Buffer.from(hash, 'base64url'))
}

let last: Promise<unknown> = Promise.resolve()

function derive(password: string, salt: Buffer): Promise<Buffer> {
  const next = last.then(() => new Promise<Buffer>((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, bytes, cost, (error, key) => { if (error === null) resolve(key); else reject(error) })
  }))
  last = next.catch(() => undefined)
  return next
}
