/**
 * `/queues`. Every write is decided here, before Bull Board sees it: a retry becomes a resume through the ledger's verbs, everything else
 * (add, edit, clean, promote, pause, empty, obliterate) is refused with the way to do it.
 */
import type { PawlClient } from '@pawl/client'
import { PawlError } from '@pawl/core'
import { Hono, type Context } from 'hono'
import { html, raw } from 'hono/html'
import type { Logger } from 'pino'
import { assets } from '../assets.ts'
import type { PageEnv } from '../auth/guard.ts'
import { mayAct } from '../auth/users.ts'
import { problemOf } from '../problems.ts'
import type { Boards } from './boards.ts'
import { createResumer, type Resumer } from './resume-job.ts'

export interface BoardParts {
  readonly boards: Boards
  /** What a person does through it is recorded as theirs. */
  readonly pawlOf: (person: string) => PawlClient
  readonly ledgerId: string
  readonly base: string
  readonly log: Logger
}

const most = 1_000
/** Nothing is asked of other hosts; the policy would refuse it anyway. */
const webFonts = /<link href="https:\/\/fonts\.[^>]*>/
const atOnce = 10

type BoardContext = Context<PageEnv>

export function boardRoutes({ boards, pawlOf, ledgerId, base, log }: BoardParts): Hono<PageEnv> {
  const app = new Hono<PageEnv>()

  app.use(async (c, next) => {
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return await next()
    if (!mayAct(c.get('session').role, 'operate')) return refuse(c, 403, 'Acting needs the role operate.')
    return await next()
  })

  const resumerFor = (c: BoardContext): Resumer => createResumer(pawlOf(c.get('session').name), ledgerId, 'retry on the board')

  app.put('/api/queues/:queue/:job/retry', async (c) => {
    const { queue, job } = c.req.param()
    const data = await boards.findJob(queue, job)
    if (data === undefined) return refuse(c, 404, 'There is no such job any more. Look for its item on the run’s page.')
    log.info({ user: c.get('session').name, queue, job }, 'retry on the board: a resume was asked for')
    try {
      await resumerFor(c).resume(data)
    } catch (error) {
      const { status, sentence } = problemOf(error, log)
      return refuse(c, status === 400 ? 409 : status, sentence)
    }
    return c.body(null, 204)
  })

  app.put('/api/queues/:queue/retry/:state', async (c) => {
    const { queue, state } = c.req.param()
    if (state !== 'failed') return refuse(c, 403, 'Only failed jobs can be retried: finished work is never run again.')
    const jobs = await boards.listJobs(queue, state, most)
    if (jobs === undefined) return refuse(c, 404, 'There is no such queue any more.')
    log.info({ user: c.get('session').name, queue, jobs: jobs.data.length }, 'retry of all on the board: resumes were asked for')
    const resumer = resumerFor(c)
    let retried = 0
    let broken: PawlError | undefined
    for (let i = 0; i < jobs.data.length && broken === undefined; i += atOnce) {
      await Promise.all(jobs.data.slice(i, i + atOnce).map(async (data) => {
        try {
          await resumer.resume(data)
          retried += 1
        } catch (error) {
          if (!(error instanceof PawlError) || error.next !== 'tell') broken = error instanceof PawlError ? error : new PawlError('NOT_RESUMED', String(error), 'retry')
        }
      }))
    }
    if (broken !== undefined) return refuse(c, 503, `${retried} went on, then: ${problemOf(broken, log).sentence}`)
    if (retried === 0 && jobs.total > 0) return refuse(c, 409, `None of the ${jobs.total} items can be resumed: they are done, at work already, or their run is still going. Their runs’ pages say which.`)
    return c.json({ retried, skipped: Math.max(0, jobs.total - retried) })
  })

  app.get('/*', async (c) => {
    const board = mayAct(c.get('session').role, 'operate') ? boards.acting : boards.looking
    const url = new URL(c.req.url)
    url.pathname = url.pathname.replace(/^\/queues(?=\/|$)/, '') || '/'
    const response = await board.fetch(new Request(url, c.req.raw))
    if (!(response.headers.get('content-type') ?? '').startsWith('text/html')) return response
    const page = await response.text()
    const head = await html`<meta name="pawl-csrf" content="${c.get('session').csrf}"><script src="${raw(base)}${raw(assets.href('board.js'))}"></script><link rel="stylesheet" href="${raw(base)}${raw(assets.href('board.css'))}">`
    return c.html(page.replace('<head>', () => `<head>${head.toString()}`).replace(webFonts, ''), response.status === 200 ? 200 : 404)
  })

  return app.all('*', (c) => refuse(c, 403, 'Off here: jobs are only doorbells, and the ledger rings them by itself. Pause, cancel or resume the run on its page.'))
}

/** In the shape the board's page shows. */
const refuse = (c: BoardContext, status: Parameters<BoardContext['json']>[1] & number, sentence: string): Response =>
  c.json({ error: { key: 'ERRORS.FORBIDDEN' }, message: sentence }, status as 403)
