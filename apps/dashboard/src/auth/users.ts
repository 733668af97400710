/** Who may log in: `name:role:password-hash`, separated by commas. No `$` in the format: compose files would expand it. */
import { PawlError } from '@pawl/core'
import { isPasswordHash } from './password.ts'

export const ROLES = ['read', 'run', 'operate'] as const
/** The producer's scopes, each with those before it: `read` looks, `run` may start runs over HTTP and looks here, `operate` acts. */
export type Role = (typeof ROLES)[number]

export interface User {
  readonly name: string
  readonly role: Role
  readonly passwordHash: string
}

const name = /^[A-Za-z0-9._@-]{1,64}$/
const isRole = (text: string | undefined): text is Role => ROLES.some((role) => role === text)
export const mayAct = (role: Role, needed: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(needed)

/** Throws `BAD_USERS` naming the entry by its place, never its text. */
export function parseUsers(text: string): User[] {
  const users = text.split(',').map((entry) => entry.trim()).filter((entry) => entry !== '').map((entry, i): User => {
    const [user, role, passwordHash, ...more] = entry.split(':')
    if (user === undefined || !name.test(user) || !isRole(role) || passwordHash === undefined || more.length > 0 || !isPasswordHash(passwordHash)) {
      throw new PawlError('BAD_USERS', `PAWL_DASHBOARD_USERS, entry ${i + 1}: write name:role:hash, with a role of ${ROLES.join(', ')} and the hash that "npm run hash-password -w @pawl/dashboard" prints.`, 'crash')
    }
    return { name: user, role, passwordHash }
  })
  const twice = users.find((user, i) => users.findIndex((other) => other.name === user.name) !== i)
  if (twice !== undefined) throw new PawlError('BAD_USERS', `PAWL_DASHBOARD_USERS names ${twice.name} twice. Keep one of the entries.`, 'crash')
  return users
}
