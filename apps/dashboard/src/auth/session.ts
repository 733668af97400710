/**
 * A session is a signed cookie, so that a restart logs nobody out. It names a user and is void as soon as that user is gone from
 * the environment or has another role or password. Without users there is one person, who came by the one-time link.
 */
import { sha256 } from '@pawl/core'
import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { EndedSessions } from './ended-sessions.ts'
import type { Seal } from './seal.ts'
import type { Role, User } from './users.ts'

export interface Session {
  readonly name: string
  readonly role: Role
  /** For the forms of this session. */
  readonly csrf: string
}

export interface SessionRules {
  readonly seal: Seal
  readonly users: readonly User[]
  readonly ended: EndedSessions
  /** Only over https: browsers then send it nowhere else. */
  readonly isSecure: boolean
  /** Browsers keep cookies by host, not by port: two dashboards on one machine must not share one. */
  readonly cookieName: string
}

const lifeMs = 12 * 3_600_000
const cookieValue = z.object({ name: z.string(), id: z.string(), until: z.number(), proof: z.string() })

/** Whoever came by the link the dashboard printed when it has no users. */
export const localPerson = { name: 'local', role: 'operate' } as const

const proofOf = (user: User): string => sha256(`${user.role}:${user.passwordHash}`).slice(0, 16)

export function startSession(c: Context, rules: SessionRules, user: User | undefined): void {
  const value = { name: user?.name ?? localPerson.name, id: randomUUID(), until: Date.now() + lifeMs, proof: user === undefined ? 'link' : proofOf(user) }
  setCookie(c, rules.cookieName, rules.seal.close('session', value), { ...cookieOptions(rules), maxAge: lifeMs / 1_000 })
}

export function readSession(c: Context, rules: SessionRules): Session | undefined {
  const value = valueOf(c, rules)
  if (value === undefined || value.until < Date.now() || rules.ended.has(value.id)) return undefined
  const { name, id, proof } = value
  const csrf = rules.seal.token('csrf', id)
  if (rules.users.length === 0) return proof === 'link' ? { ...localPerson, csrf } : undefined
  const user = rules.users.find((each) => each.name === name)
  return user !== undefined && proof === proofOf(user) ? { name, role: user.role, csrf } : undefined
}

const valueOf = (c: Context, rules: SessionRules) => cookieValue.safeParse(rules.seal.open('session', getCookie(c, rules.cookieName))).data

export function endSession(c: Context, rules: SessionRules): void {
  const value = valueOf(c, rules)
  if (value !== undefined) rules.ended.add(value.id, value.until)
  deleteCookie(c, rules.cookieName, cookieOptions(rules))
}

export const cookieOptions = (rules: Pick<SessionRules, 'isSecure'>) => ({ path: '/', httpOnly: true, sameSite: 'Strict', secure: rules.isSecure } as const)
