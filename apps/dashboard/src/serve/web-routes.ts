/** The pages' document at each of their addresses, the files it names, and who is logged in. */
import { PawlError } from '@pawl/core'
import { Hono } from 'hono'
import { randomBytes } from 'node:crypto'
import type { PageContext, PageEnv } from '../auth/guard.ts'
import { readBuiltPages, type BuiltPages } from './built-pages.ts'

export interface WebParts {
  readonly base: string
  readonly version: string
}

/** Those of `web/src/routes.tsx`; any other is answered 404, by the same document, which says so. */
const addresses = ['/', '/inbox', '/fleet', '/tools', '/runs/:run', '/runs/:run/items/:seq']
const forEver = 'private, max-age=31536000, immutable'

export function webRoutes({ base, version }: WebParts): Hono<PageEnv> {
  const app = new Hono<PageEnv>()
  let kept: BuiltPages | undefined
  const pages = (): BuiltPages => (kept ??= readBuiltPages())
  const show = (c: PageContext, status: 200 | 404): Response | Promise<Response> => {
    const nonce = randomBytes(18).toString('base64url')
    c.set('styleNonce', nonce)
    return c.html(pages().document(base, nonce), status)
  }

  app.get('/session', (c) => {
    const { name, role, csrf } = c.get('session')
    return c.json({ user: name, role, csrf, base, version })
  })
  app.get('/assets/:name', (c) => {
    const asset = pages().asset(c.req.param('name'))
    if (asset === undefined) throw new PawlError('NOT_FOUND', 'There is no such file: the dashboard was built anew. Reload the page.')
    const isGzipped = (c.req.header('accept-encoding') ?? '').includes('gzip')
    return c.body(isGzipped ? asset.gzipped : asset.plain, 200, { 'content-type': asset.type, 'cache-control': forEver, vary: 'accept-encoding', ...(isGzipped ? { 'content-encoding': 'gzip' } : {}) })
  })
  for (const address of addresses) app.get(address, (c) => show(c, 200))
  app.get('*', (c) => {
    if (!(c.req.header('accept') ?? '').includes('text/html')) throw new PawlError('NOT_FOUND', `There is no such page. Begin at ${base}/.`)
    return show(c, 404)
  })
  return app
}
