/**
 * Bull Board over this ledger's queues, as they appear. One board for those who may act and one for those who may look: read-only is a
 * queue's setting there, not a person's. Whatever its pages offer, its own handlers never write: only reads pass its hook.
 */
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { HonoAdapter } from '@bull-board/hono'
import { serveStatic } from '@hono/node-server/serve-static'
import type { BoardQueue, Queue } from '@pawl/queue'
import type { Hono } from 'hono'
import type { Logger } from 'pino'
import { z } from 'zod'

export interface Boards {
  /** Without any login of its own. */
  readonly looking: Hono
  readonly acting: Hono
  /** Data of a job; undefined when there is no such job. */
  findJob(queue: string, id: string): Promise<unknown>
  /** Data of jobs in a state, at most `most`; undefined when there is no such queue. */
  listJobs(queue: string, state: 'failed' | 'completed', most: number): Promise<{ data: unknown[]; total: number } | undefined>
  close(): Promise<void>
}

export interface BoardOptions {
  readonly queue: Queue
  /** Path before every link. */
  readonly base: string
  readonly log: Logger
  readonly everyMs?: number
}

const target = z.object({ runId: z.string(), seq: z.number().optional() })

/** Behind any prefix, stripped or not. */
const serveAssets: typeof serveStatic = (options) => serveStatic({ root: '', ...options, rewriteRequestPath: (path) => path.replace(/^.*?\/static(?=\/)/, '') })

/** Its types know the Redis backend only; it works with both. */
const asRedisQueue = (queue: BoardQueue) => queue as unknown as ConstructorParameters<typeof BullMQAdapter>[0]

/** Nothing ever works on the queue of runs: a warning that it has no workers would only mislead. */
class UnworkedAdapter extends BullMQAdapter {
  override getWorkers(): Promise<null> {
    return Promise.resolve(null)
  }
}

function openBoard(base: string, isActing: boolean) {
  const adapter = new HonoAdapter(serveAssets)
  adapter.setBasePath(`${base}/queues`)
  const board = createBullBoard({
    queues: [], serverAdapter: adapter,
    options: {
      uiConfig: {
        boardTitle: 'Pawl queues', hideDocsLink: true, hideRedisDetails: true, boardLogo: { path: `${base}/static/icon.svg`, width: 24, height: 24 },
        favIcon: { default: `${base}/static/icon.svg`, alternative: `${base}/static/icon.svg` },
        miscLinks: [{ text: 'Pawl: runs and inbox', url: `${base}/` }],
      },
      handlerHooks: { before: ({ method }) => (method === 'get' ? { allow: true } : { allow: false, status: 403, message: 'The board never writes to the queue.' }) },
    },
  })
  const adapterOf = (queue: BoardQueue, name: string, isRuns: boolean): BullMQAdapter => new (isRuns ? UnworkedAdapter : BullMQAdapter)(asRedisQueue(queue), {
    readOnlyMode: !isActing, allowRetries: isActing,
    description: isRuns ? 'One job per run, delayed while it lives. Nothing runs these.' : `Doorbells of ${decodeURIComponent(name)}: a job says “look at this item”, the ledger says what is true.`,
    externalJobUrl: (job) => {
      const parsed = target.safeParse(job.data)
      if (!parsed.success) return { displayText: 'Pawl', href: `${base}/` }
      const { runId, seq } = parsed.data
      const run = `${base}/runs/${encodeURIComponent(runId)}`
      return seq === undefined ? { displayText: 'Run', href: run } : { displayText: 'Item', href: `${run}/items/${seq}` }
    },
  })
  return { routes: adapter.registerPlugin() as unknown as Hono, replaceQueues: board.replaceQueues, adapterOf }
}

/** Looks for new queues every 3 s; while the store is away the board keeps those it had. */
export async function openBoards({ queue, base, log, everyMs = 3_000 }: BoardOptions): Promise<Boards> {
  const [looking, acting] = [openBoard(base, false), openBoard(base, true)]
  let shown = new Map<string, BoardQueue>()
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  /** After an outage BullMQ's objects are others, under the same names. */
  async function look(): Promise<void> {
    const found = await queue.names()
    const next = new Map(found.map(({ name }) => [name, queue.boardQueue(name)] as const))
    if (next.size === shown.size && [...next].every(([name, each]) => shown.get(name) === each)) return
    shown = next
    for (const board of [looking, acting]) {
      board.replaceQueues(found.flatMap(({ name, channel }) => {
        const each = next.get(name)
        return each === undefined ? [] : [board.adapterOf(each, name, channel === undefined)]
      }))
    }
  }
  async function lookAgain(): Promise<void> {
    try {
      await look()
    } catch (error) {
      log.warn(`the board could not list its queues: ${error instanceof Error ? error.message : String(error)}`)
    }
    if (!isClosed) timer = setTimeout(() => { void lookAgain() }, everyMs)
  }
  await lookAgain()

  return {
    looking: looking.routes,
    acting: acting.routes,
    async findJob(name, id) {
      const job = await shown.get(name)?.getJob(id)
      return job?.data
    },
    async listJobs(name, state, most) {
      const found = shown.get(name)
      if (found === undefined) return undefined
      const [jobs, total] = await Promise.all([found.getJobs([state], 0, most - 1), found.getJobCountByTypes(state)])
      return { data: jobs.map((job) => job.data), total }
    },
    close() {
      isClosed = true
      clearTimeout(timer)
      return Promise.resolve()
    },
  }
}
