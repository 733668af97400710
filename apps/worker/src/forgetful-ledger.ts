/** A ledger whose answers can be lost after the statement has run, as a broken connection loses them. Only for failpoints. */
import { Ledger } from '@pawl/ledger'

type Row = Record<string, unknown>
type QueryArguments = Parameters<Ledger['query']>

/** The writer's flush: it hears of the broken connection and writes again under the same tokens. */
const flush = /^\s*with want\b/

export class ForgetfulLedger extends Ledger {
  readonly #forgets = new Set<string>()

  /** Loses the answer of the next write about this run that its verb may write again. */
  loseNextAnswer(runId: string): void {
    this.#forgets.add(runId)
  }

  override async query<R extends Row = Row>(...[text, params = [], options = {}]: QueryArguments): Promise<R[]> {
    const rows = await super.query<R>(text, params, options)
    const isRepeatable = (options.retryForMs ?? 0) > 0
    if (this.#forgets.size === 0 || !(flush.test(text) || isRepeatable)) return rows
    const runId = [...this.#forgets].find((id) => params.some((param) => typeof param === 'string' && param.includes(id)))
    if (runId === undefined) return rows
    this.#forgets.delete(runId)
    // What the door to Postgres does by itself after a broken connection.
    if (isRepeatable) return await super.query<R>(text, params, options)
    throw Object.assign(new Error('failpoint: the answer was lost'), { code: 'CONNECTION_CLOSED' })
  }
}
