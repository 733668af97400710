/**
 * `sql.execute`, as a tool you make: fixed statements with a schema in front, not SQL from a model.
 *
 * `sqlTool` works in the ledger's own database. Effect class: `transactional`. Its statements and the record that the call
 * is complete commit together or not at all, so there is never a doubt and nothing to verify. The item's row is locked last,
 * after your statements: keep them short, they hold their own locks until the commit.
 *
 * `keyedSqlTool` works in another database, where the ledger's commit does not reach. Effect class: `idempotent` and
 * `concurrent`: in one transaction with your statements it inserts the key into a table of that database. The unique key
 * makes a second call wait for the first one's commit or rollback; then it returns the first one's result, or does the
 * work itself. A key is forgotten only when somebody prunes the table: say so with `keyWindow`.
 */
import { decode, encode, NotApplied, PawlError, type Duration } from '@pawl/core'
import type { z } from 'zod'
import { defineTool, type ExecuteContext, type Tool, type ToolDefinition, type ToolTransaction } from '../define-tool.ts'
import { NotSent } from '../not-sent.ts'
import { applied, notApplied } from '../verdict.ts'

export interface SqlToolOptions<I, R> extends Pick<ToolDefinition<I, R>, 'key' | 'timeout' | 'retry' | 'undo'> {
  readonly name: string
  readonly version?: string
  readonly description: string
  readonly inputSchema: z.ZodType<I>
  readonly outputSchema: z.ZodType<R>
  /** The statements. They see one transaction; what it throws rolls them back. No `commit`, nothing outside `tx`. */
  readonly run: (tx: ToolTransaction, input: I, context: ExecuteContext) => Promise<R>
}

export interface KeyedSqlToolOptions<I, R> extends SqlToolOptions<I, R> {
  /** Runs `work` in one transaction of the other database: commits when it resolves, rolls back when it throws. */
  readonly transaction: <T>(work: (tx: ToolTransaction) => Promise<T>) => Promise<T>
  /** Where the keys are kept, made by `keyedCallsTable`. Default `pawl_calls`. */
  readonly table?: string
  /** How long rows of that table are kept. Default: for ever. */
  readonly keyWindow?: Duration
}

export function sqlTool<I, R>(options: SqlToolOptions<I, R>): Tool<I, R> {
  return defineTool<I, R>({
    ...common(options),
    effect: 'transactional',
    execute: (input, context) => options.run(context.tx, input, context),
  })
}

export function keyedSqlTool<I, R>(options: KeyedSqlToolOptions<I, R>): Tool<I, R> {
  const table = quotedName(options.table ?? 'pawl_calls', options.name)
  return defineTool<I, R>({
    ...common(options),
    effect: 'idempotent',
    concurrent: true,
    settleWindow: 0,
    ...(options.keyWindow === undefined ? {} : { keyWindow: options.keyWindow }),
    async execute(input, context) {
      const progress = { isWorkDone: false }
      try {
        return await options.transaction((tx) => runOnce(tx, table, options, input, context, progress))
      } catch (error) {
        // Before COMMIT was asked for, a rollback is certain; after it only the database knows.
        if (error instanceof NotSent || error instanceof NotApplied || progress.isWorkDone) throw error
        throw new NotApplied(`rolled back: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
      }
    },
    async verify(_input, { key }) {
      const kept = await findOut(options, table, key)
      return kept === undefined ? notApplied() : applied(decode(kept) as R)
    },
  })
}

/** A first call that is still to commit (its COMMIT waits for a standby, its worker is slow) cannot be seen, but it has its key: asking for the key waits for it. */
async function findOut<I, R>({ transaction }: KeyedSqlToolOptions<I, R>, table: string, key: string): Promise<string | undefined> {
  let isFree = false
  try {
    return await transaction(async (tx) => {
      const { rowCount } = await tx.query(`insert into ${table} (key) values ($1) on conflict (key) do nothing`, [key])
      isFree = rowCount > 0
      if (isFree) throw new Error('nobody has the key; it is given back')
      return await keptResult(tx, table, key)
    })
  } catch (error) {
    if (isFree) return undefined
    throw error
  }
}

/** The statement that makes the table of keys. Run it in your migrations. */
export function keyedCallsTable(table = 'pawl_calls'): string {
  return `create table if not exists ${quotedName(table, 'sql')} (key text primary key, result text, called_at timestamptz not null default now())`
}

async function runOnce<I, R>(tx: ToolTransaction, table: string, options: KeyedSqlToolOptions<I, R>, input: I, context: ExecuteContext, progress: { isWorkDone: boolean }): Promise<R> {
  // Waits here while another transaction holds the same key.
  const { rowCount } = await tx.query(`insert into ${table} (key) values ($1) on conflict (key) do nothing`, [context.key])
  if (rowCount === 0) {
    const kept = await keptResult(tx, table, context.key)
    if (kept === undefined) throw new Error(`the row of key ${context.key} is there but not visible; use read committed isolation.`)
    return decode(kept) as R
  }
  const result = options.outputSchema.parse(await options.run(tx, input, context))
  await tx.query(`update ${table} set result = $2 where key = $1`, [context.key, encode(result, { what: `${options.name}'s result` })])
  context.guard()
  progress.isWorkDone = true
  return result
}

async function keptResult(tx: ToolTransaction, table: string, key: string): Promise<string | undefined> {
  const { rows } = await tx.query<{ result: string }>(`select result from ${table} where key = $1`, [key])
  return rows[0]?.result
}

function common<I, R>(options: SqlToolOptions<I, R>) {
  const { name, description, inputSchema, outputSchema, key, timeout, retry, undo } = options
  return {
    name,
    version: options.version ?? '1',
    description,
    inputSchema,
    outputSchema,
    ...(key ? { key } : {}),
    ...(timeout === undefined ? {} : { timeout }),
    ...(retry ? { retry } : {}),
    ...(undo ? { undo } : {}),
  }
}

function quotedName(table: string, tool: string): string {
  if (!/^[a-z_][a-z0-9_]{0,62}(\.[a-z_][a-z0-9_]{0,62})?$/.test(table)) {
    throw new PawlError('BAD_TOOL', `Tool "${tool}": table "${table}" is not a plain name. Use lower-case letters, digits and "_", with a schema in front if need be.`, 'crash', { tool })
  }
  return table.split('.').map((part) => `"${part}"`).join('.')
}
