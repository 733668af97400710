/** A producer on a database of its own, as a test wants it, and plain HTTP to it. */
import { defineAgent } from '@pawl/harness'
import { Ledger } from '@pawl/ledger'
import { createHash } from 'node:crypto'
import { freshDatabase } from '../../../tests/setup/fixtures.ts'
import { mailing as mailingContract, stock as stockContract } from '../../../packages/client/src/suite/ground.testsuite.ts'
import { startProducer, type ProducerOptions } from './index.ts'

const nothing = async (): Promise<void> => undefined
export const mailing = defineAgent({ ...mailingContract, run: nothing, split: (input) => input.recipients.map((to) => ({ key: to, payload: { to } })) })
export const stock = defineAgent({ name: stockContract.name, version: stockContract.version, inputSchema: stockContract.inputSchema, payloadSchema: stockContract.payloadSchema, tools: {}, run: nothing })

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

export interface TestProducer {
  readonly url: string
  readonly databaseUrl: string
  readonly ledger: Ledger
  /** Runs in the ledger, whatever their state. */
  countRuns(): Promise<number>
  close(): Promise<void>
}

export async function openProducer(env: NodeJS.ProcessEnv = {}, options: Pick<ProducerOptions, 'streamAliveMs'> = {}): Promise<TestProducer> {
  const database = await freshDatabase()
  const producer = await startProducer({
    agents: [mailing, stock], ...options,
    env: { DATABASE_URL: database.url, PAWL_QUEUE: 'postgres', PAWL_PORT: '0', PAWL_MIGRATE: 'yes', PAWL_LOG_LEVEL: 'silent', ...env },
  })
  const ledger = new Ledger({ url: database.url, connections: 1 })
  return {
    url: producer.url, databaseUrl: database.url, ledger,
    countRuns: async () => (await ledger.query<{ n: number }>('select count(*)::integer as n from pawl.runs'))[0]?.n ?? -1,
    async close() {
      await producer.close()
      await ledger.close()
      await database.drop()
    },
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Record<string, unknown>
}

/** `body`: text as it is, anything else as JSON. */
export async function ask(url: string, method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(url + path, {
    method, headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers }, ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: (text.startsWith('{') ? JSON.parse(text) : { text }) as Record<string, unknown> }
}
