/** Pawl's own pages, all of them over the producer's HTTP. */
import type { PawlClient, Run } from '@pawl/client'
import { PawlError, type RunStatus } from '@pawl/core'
import { Hono } from 'hono'
import type { Logger } from 'pino'
import { requireRole, textFields, type PageContext, type PageEnv } from './auth/guard.ts'
import type { SessionRules } from './auth/session.ts'
import { groupFailures } from './failures.ts'
import { keepFor } from './keep.ts'
import { leaveNotice } from './notice.ts'
import { inboxPage, type InboxQuery, type Refusal } from './pages/inbox.ts'
import { itemPage } from './pages/item.ts'
import type { Frame } from './pages/layout.ts'
import { linkWith, words } from './pages/parts.ts'
import { runPage } from './pages/run.ts'
import { runsPage, type RunCounts } from './pages/runs.ts'
import { stateOf, verbPage, type Verb } from './pages/verb.ts'
import { problemOf } from './problems.ts'
import { actionParam, actionsQuery, answerForm, check, inboxQuery, itemsQuery, jsonOf, labelsOf, questionForm, questionParam, releaseForm, runsQuery, seqParam, verbForm, verbParams } from './queries.ts'

export interface PageParts {
  readonly pawl: PawlClient
  readonly rules: SessionRules
  readonly base: string
  readonly log: Logger
  readonly frame: (c: PageContext) => Promise<Frame>
}

const perPage = 50
const counted = 200
const inboxPerPage = 20

export function pageRoutes(parts: PageParts): Hono<PageEnv> {
  const { pawl, base, frame } = parts
  const app = new Hono<PageEnv>()
  const countRuns = keepFor(3_000, async (): Promise<RunCounts> => {
    const { entries, cursor } = await pawl.listRuns({ limit: counted })
    const byStatus: Partial<Record<RunStatus, number>> = {}
    for (const run of entries) byStatus[run.status] = (byStatus[run.status] ?? 0) + 1
    return { of: entries.length, isAll: cursor === null, byStatus }
  })

  app.get('/', async (c) => {
    const query = check(runsQuery, c.req.query())
    const [page, counts] = await Promise.all([
      pawl.listRuns({ status: query.status, agent: query.agent, labels: labelsOf(query.label), cursor: query.cursor, limit: perPage }), countRuns(),
    ])
    return c.html(runsPage(await frame(c), query, page, counts))
  })

  app.get('/runs/:run', async (c) => {
    const query = check(itemsQuery, c.req.query())
    const id = c.req.param('run')
    const [run, items, failures] = await Promise.all([pawl.getRun(id), pawl.listItems(id, { ...query, limit: perPage }), groupFailures(pawl, id)])
    return c.html(runPage(await frame(c), run, query, items, failures))
  })

  app.get('/runs/:run/items/:seq', async (c) => {
    const { cursor } = check(actionsQuery, c.req.query())
    const id = c.req.param('run')
    const { seq } = check(seqParam, c.req.param())
    const [run, item, actions] = await Promise.all([pawl.getRun(id), pawl.getItem(id, seq), pawl.listActions(id, { itemSeq: seq, cursor, limit: perPage })])
    return c.html(itemPage(await frame(c), run, item, actions, cursor))
  })

  addVerbs(app, parts)
  addInbox(app, parts)
  return app.notFound(() => { throw new PawlError('NOT_FOUND', `There is no such page. Begin at ${base}/.`) })
}

function addVerbs(app: Hono<PageEnv>, { pawl, rules, base, log, frame }: PageParts): void {
  const show = async (c: PageContext, verb: Verb, run: Run, notice?: string): Promise<Response> => {
    const preview = verb === 'pause' ? undefined : await pawl[verb](run.id, { dryRun: true })
    if (preview?.dryRun === false) throw new PawlError('PRODUCER_ACTED', 'The producer acted when it was asked what it would do. Run both in the same version.', 'retry')
    const page = await frame(c)
    return c.html(verbPage(notice === undefined ? page : { ...page, notice }, verb, run, preview), notice === undefined ? 200 : 409)
  }

  app.get('/runs/:run/:verb', async (c) => {
    const { verb } = check(verbParams, c.req.param())
    requireRole(c, 'operate')
    return await show(c, verb, await pawl.getRun(c.req.param('run')))
  })

  app.post('/runs/:run/:verb', async (c) => {
    const { verb } = check(verbParams, c.req.param())
    requireRole(c, 'operate')
    const { seen, reason } = check(verbForm, await textFields(c))
    const run = await pawl.getRun(c.req.param('run'))
    if (stateOf(run) !== seen) return await show(c, verb, run, `Not done: the run is now ${words(run.status)}${run.paused ? ', paused' : ''}. This is what would happen now.`)
    const by = c.get('session').name
    log.info({ user: by, run: run.id, verb }, 'asked for')
    const answer = verb === 'pause' ? await pawl.pause(run.id) : await pawl[verb](run.id, { reason: signed(reason, by) })
    leaveNotice(c, rules, `${verb}: done. The run is ${words(answer.status)}${verb === 'pause' ? ', paused' : ''}${'reopened' in answer && answer.reopened !== undefined ? `; ${answer.reopened} items go round again` : ''}.`)
    return c.redirect(`${base}/runs/${run.id}`, 303)
  })
}

function addInbox(app: Hono<PageEnv>, { pawl, rules, base, log, frame }: PageParts): void {
  const list = ({ run, cursor }: InboxQuery) => pawl.inbox({ runId: run, cursor, limit: inboxPerPage })

  app.get('/inbox', async (c) => {
    const query = check(inboxQuery, c.req.query())
    const [page, entries] = await Promise.all([frame(c), list(query)])
    return c.html(inboxPage(page, query, entries))
  })

  /** A refused answer is shown where it was given, over what holds now. */
  const answered = async (c: PageContext, run: string | undefined, about: string, sentence: string, act: () => Promise<unknown>): Promise<Response> => {
    try {
      await act()
    } catch (error) {
      const { status, code, sentence: why } = problemOf(error, log)
      if (status >= 500) throw error
      const refusal: Refusal = { code, sentence: why, about }
      return c.html(inboxPage(await frame(c), { run }, await list({ run }), refusal), status)
    }
    leaveNotice(c, rules, sentence)
    return c.redirect(linkWith(`${base}/inbox`, { run }), 303)
  }

  app.post('/inbox/runs/:run/actions/:action', async (c) => {
    requireRole(c, 'operate')
    const id = c.req.param('run')
    const { action } = check(actionParam, c.req.param())
    const { answer, attempt, evidence, result, note, run } = check(answerForm, await textFields(c))
    const by = c.get('session').name
    log.info({ user: by, run: id, action, answer }, 'asked for')
    return await answered(c, run, `action-${id}-${action}`, `Recorded: action ${action} ${({ happened: 'happened', did_not: 'did not happen', abandon: 'stays unknown' })[answer]}.`, () =>
      pawl.settle(id, action, { answer, attempt, evidence, note: signed(note, by), ...(answer === 'happened' ? { result: jsonOf(result) } : {}) }))
  })

  app.post('/inbox/runs/:run/questions/:question', async (c) => {
    requireRole(c, 'operate')
    const id = c.req.param('run')
    const { question } = check(questionParam, c.req.param())
    const { answer, note, run } = check(questionForm, await textFields(c))
    const by = c.get('session').name
    log.info({ user: by, run: id, question }, 'asked for')
    return await answered(c, run, `question-${id}-${question}`, `Recorded: question ${question} is answered.`, () => pawl.answer(id, question, jsonOf(answer, 'answer'), { note: signed(note, by) }))
  })

  app.post('/inbox/runs/:run/items/:seq', async (c) => {
    requireRole(c, 'operate')
    const id = c.req.param('run')
    const { seq } = check(seqParam, c.req.param())
    const { verb, note, newCalls, run } = check(releaseForm, await textFields(c))
    const by = c.get('session').name
    log.info({ user: by, run: id, item: seq, verb }, 'asked for')
    return await answered(c, run, `item-${id}-${seq}`, `Item ${seq} ${verb === 'resume' ? 'goes on' : 'was ended as failed'}.`, () =>
      pawl.releaseItem(id, seq, verb, { note: signed(note, by), ...(newCalls === 'true' ? { newCalls: true } : {}) }))
  })
}

/** The producer knows the dashboard by its token; the record shall name the person. */
const signed = (text: string | undefined, name: string): string => (text === undefined ? `by ${name}` : `${text} (by ${name})`)
