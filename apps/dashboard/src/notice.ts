/** A sentence for the next page: what was just done. In a sealed cookie, so that no link can put words on our pages. */
import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { cookieOptions, type SessionRules } from './auth/session.ts'

const nameOf = (rules: SessionRules): string => `${rules.cookieName}_notice`

export function leaveNotice(c: Context, rules: SessionRules, sentence: string): void {
  setCookie(c, nameOf(rules), rules.seal.close('notice', sentence), { ...cookieOptions(rules), maxAge: 30 })
}

export function takeNotice(c: Context, rules: SessionRules): string | undefined {
  const given = getCookie(c, nameOf(rules))
  if (given === undefined || c.req.header('x-pawl-live') !== undefined) return undefined
  deleteCookie(c, nameOf(rules), cookieOptions(rules))
  const sentence = rules.seal.open('notice', given)
  return typeof sentence === 'string' ? sentence : undefined
}
