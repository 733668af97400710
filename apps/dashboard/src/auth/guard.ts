/**
 * What every request passes. Nothing is behind it that has a check of its own: who is not logged in gets no page, no asset and no JSON
 * but those of the login; a write must come from a page of ours and carry the session's token.
 */
import type { Context, MiddlewareHandler } from 'hono'
import { PawlError } from '@pawl/core'
import { isLoopback } from '../env.ts'
import type { Place } from '../place.ts'
import { isEqual } from './seal.ts'
import { readSession, type Session, type SessionRules } from './session.ts'
import { mayAct, type Role } from './users.ts'

export interface PageEnv { Variables: { session: Session; styleNonce?: string } }
export type PageContext = Context<PageEnv>

/** @param styles what may style besides our own files: the libraries of the pages write style elements, and those carry the answer's nonce. */
const policy = (base: string, styles = ''): string =>
  `default-src 'none'; script-src 'self'; style-src 'self'${styles}; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri ${base}`
/**
 * Bull Board's page has a `base` element, and its libraries write style elements and attributes that can carry neither a nonce nor a lasting hash: on its
 * page alone styles may be inline. Scripts may not, and what a style could load is still ours only.
 */
const policyFor = (path: string, styleNonce: string | undefined): string =>
  path.startsWith('/queues') ? policy("'self'", " 'unsafe-inline'") : policy("'none'", styleNonce === undefined ? '' : ` 'nonce-${styleNonce}'`)

export function setHeaders(): MiddlewareHandler<PageEnv> {
  return async (c, next) => {
    await next()
    c.header('content-security-policy', policyFor(c.req.path, c.get('styleNonce')))
    c.header('x-content-type-options', 'nosniff')
    c.header('x-frame-options', 'DENY')
    c.header('referrer-policy', 'same-origin')
    c.header('cross-origin-opener-policy', 'same-origin')
    c.header('cross-origin-resource-policy', 'same-origin')
    if (!c.res.headers.has('cache-control')) c.header('cache-control', 'no-store')
  }
}

/** On loopback a page elsewhere could reach the dashboard by a name that was made to point here. */
export function checkHost(place: Place, listensOn: string): MiddlewareHandler<PageEnv> {
  const known = place.origin === null ? undefined : new URL(place.origin).host
  return async (c, next) => {
    const host = c.req.header('host') ?? ''
    if (isLoopback(listensOn) && host !== known && !isLoopback(nameOf(host))) {
      throw new PawlError('FOREIGN_HOST', 'This dashboard listens on this machine only and was asked for by another name. Use 127.0.0.1 or localhost, or set PAWL_DASHBOARD_URL to the address your proxy gives it.')
    }
    await next()
  }
}

const nameOf = (host: string): string => host.replace(/:\d+$/, '')

export function requireSession(rules: SessionRules, place: Place): MiddlewareHandler<PageEnv> {
  return async (c, next) => {
    const session = readSession(c, rules)
    if (session !== undefined) {
      c.set('session', session)
      await next()
      return undefined
    }
    const isPage = c.req.method === 'GET' && !c.req.path.startsWith('/api/') && (c.req.header('accept')?.includes('text/html') ?? false)
    if (!isPage) return c.json({ code: 'UNAUTHENTICATED', detail: 'Log in first.' }, 401)
    const wanted = c.req.path + new URL(c.req.url).search
    // A strict cookie does not come along from another site's link; asked once more by our own page it does.
    if (c.req.header('sec-fetch-site') === 'cross-site') {
      return c.html(`<!doctype html><title>Pawl</title><meta http-equiv="refresh" content="0"><p>One moment.`, 401)
    }
    return c.redirect(`${place.base}/login${wanted === '/' ? '' : `?next=${encodeURIComponent(wanted)}`}`, 302)
  }
}

const isWrite = (method: string): boolean => method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS'

/** Browsers send Origin with every write of a page; what has none is no page of ours. */
export function checkOrigin(place: Place): MiddlewareHandler<PageEnv> {
  return async (c, next) => {
    const origin = c.req.header('origin')
    if (isWrite(c.req.method) && !(origin !== undefined && (origin === place.origin || hostOf(origin) === c.req.header('host')))) {
      throw new PawlError('FOREIGN_ORIGIN', 'Refused: this did not come from a page of the dashboard. Behind a proxy that changes the Host header, set PAWL_DASHBOARD_URL.')
    }
    await next()
  }
}

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host
  } catch {
    return undefined
  }
}

/** The session's token, in the header `x-pawl-csrf`; where a form can be what writes, also in its field `csrf`. */
export function checkCsrf(): MiddlewareHandler<PageEnv> {
  return async (c, next) => {
    if (isWrite(c.req.method)) {
      const { csrf } = c.get('session')
      const given = c.req.header('x-pawl-csrf') ?? (c.req.path.startsWith('/api/') ? undefined : (await textFields(c))['csrf'])
      if (given === undefined || !isEqual(given, csrf)) throw new PawlError('STALE_FORM', 'Refused: this page is from an earlier session. Reload it and try again.')
    }
    await next()
  }
}

/** Form fields that are texts. */
export async function textFields(c: PageContext): Promise<Readonly<Record<string, string>>> {
  const fields = await c.req.parseBody()
  return Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

export function requireRole(c: PageContext, role: Role): void {
  const { name, role: has } = c.get('session')
  if (!mayAct(has, role)) throw new PawlError('FORBIDDEN', `${name} may ${has}; this needs the role ${role}. Ask who keeps PAWL_DASHBOARD_USERS.`)
}
