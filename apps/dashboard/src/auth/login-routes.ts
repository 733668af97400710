/** The only pages without a session. */
import { getConnInfo } from '@hono/node-server/conninfo'
import { Hono } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { loginPage } from '../pages/login.ts'
import { localPath, type Place } from '../place.ts'
import { Attempts } from './attempts.ts'
import { textFields, type PageContext, type PageEnv } from './guard.ts'
import type { OneTimeLink } from './one-time-link.ts'
import { checkPassword } from './password.ts'
import { cookieOptions, endSession, readSession, startSession, type SessionRules } from './session.ts'

export interface LoginParts {
  readonly rules: SessionRules
  readonly place: Place
  /** Undefined where there are users. */
  readonly link: OneTimeLink | undefined
  readonly log: Logger
}

export function loginRoutes({ rules, place, link, log }: LoginParts): Hono<PageEnv> {
  const attempts = new Attempts()
  const app = new Hono<PageEnv>()
  const formCookie = `${rules.cookieName}_form`

  /** The form has a token of its own: nobody may be logged in as somebody else by another site's form. */
  const show = async (c: PageContext, status: 200 | 400 | 401 | 403 | 429, message?: string, next?: string) => {
    let form = getCookie(c, formCookie)
    if (form === undefined) {
      form = randomUUID()
      setCookie(c, formCookie, form, cookieOptions(rules))
    }
    return c.html(loginPage({ base: place.base, token: rules.seal.token('login', form), next: localPath(next ?? c.req.query('next')), message, hasUsers: link === undefined }), status)
  }

  app.get('/login', async (c) => {
    const token = c.req.query('link')
    if (token !== undefined && link !== undefined) {
      if (!link.use(token)) return await show(c, 403, 'This link was used already, or a newer one was printed. Print a new one.')
      startSession(c, rules, undefined)
      log.info('logged in by the one-time link')
      return c.redirect(`${place.base}/`, 303)
    }
    if (readSession(c, rules) !== undefined) return c.redirect(place.base + localPath(c.req.query('next')), 303)
    return await show(c, 200)
  })

  app.post('/login', async (c) => {
    const fields = await textFields(c)
    const next = localPath(fields['next'])
    if (!rules.seal.isToken('login', getCookie(c, formCookie) ?? '', fields['csrf'])) return await show(c, 403, 'The form was too old. Try again.', next)
    if (link !== undefined) {
      link.issue()
      return await show(c, 200, 'A new link was printed in the terminal the dashboard runs in.', next)
    }
    const address = getConnInfo(c).remote.address ?? ''
    if (!attempts.take(address)) return await show(c, 429, 'Too many wrong passwords. Wait a minute.', next)
    const user = rules.users.find(({ name }) => name === fields['name'])
    if (!(await checkPassword(fields['password']?.slice(0, 1_000) ?? '', user?.passwordHash)) || user === undefined) {
      log.warn({ address }, 'a login was refused')
      return await show(c, 401, 'Name or password is wrong.', next)
    }
    attempts.giveBack(address)
    startSession(c, rules, user)
    log.info({ user: user.name }, 'logged in')
    return c.redirect(place.base + next, 303)
  })

  /** For whoever is logged in; the guard has checked the token. */
  app.post('/logout', (c) => {
    endSession(c, rules)
    return c.redirect(`${place.base}/login`, 303)
  })
  return app
}
