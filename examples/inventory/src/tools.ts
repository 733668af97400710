import { applied, defineTool, NotApplied, notApplied } from 'pawl'
import postgres from 'postgres'
import { z } from 'zod'

const quantityOf = z.object({ sku: z.string(), quantity: z.number().int().positive() })
const unitsLeft = z.object({ units: z.number().int() })

/** Gives units back to the shelf: the inverse of `stock.take`. */
export const giveStock = defineTool({
  name: 'stock.give', version: '1', description: 'Put units of an article back on the shelf',
  effect: 'transactional', inputSchema: quantityOf, outputSchema: unitsLeft,
  async execute({ sku, quantity }, { tx }) {
    const { rows } = await tx.query<{ units: number }>('update shop.stock set units = units + $2 where sku = $1 returning units', [sku, quantity])
    return { units: rows[0]?.units ?? 0 }
  },
})

/**
 * Takes units off the shelf. Transactional: the update commits with the ledger's completion or not at all,
 * so however often the item is tried, the units go once. It adds to what is there, so an outside writer is never overwritten.
 */
export const takeStock = defineTool({
  name: 'stock.take', version: '1', description: 'Take units of an article off the shelf',
  effect: 'transactional', inputSchema: quantityOf, outputSchema: unitsLeft,
  async execute({ sku, quantity }, { tx }) {
    const { rows } = await tx.query<{ units: number }>('update shop.stock set units = units - $2 where sku = $1 returning units', [sku, quantity])
    const [row] = rows
    if (!row) throw new NotApplied(`there is no article ${sku}`)
    return { units: row.units }
  },
  undo: { tool: giveStock, input: ({ input }) => input },
})

export interface WarehouseOptions {
  readonly databaseUrl: () => string
  /** How long a booking takes: long enough to be caught in the middle. */
  readonly slowMs?: number
}

/** The warehouse has its own connection, knows no keys and refuses no doubles; it can only be asked whether a reference was booked. */
export function warehouseTools({ databaseUrl, slowMs = 0 }: WarehouseOptions) {
  let client: postgres.Sql | undefined
  const sql = () => (client ??= postgres(databaseUrl(), { max: 4, onnotice: () => {}, backoff: () => 0.1, idle_timeout: 30 }))
  const booking = (quantitySign: 1 | -1, name: string, description: string) => ({
    name, version: '1', description, effect: 'non-idempotent' as const, timeout: '3s', settleWindow: '500ms',
    inputSchema: quantityOf, outputSchema: z.object({ reference: z.string() }),
    async execute({ sku, quantity }: z.infer<typeof quantityOf>, { key, guard }: { key: string; guard: () => void }) {
      await sql()`select 1` // connected before the guard is asked
      guard()
      await sql()`with m as (insert into shop.movements (reference, sku, quantity) values (${key}, ${sku}, ${quantitySign * quantity}) returning quantity)
        update shop.warehouse set units = units + (select quantity from m) where sku = ${sku} and pg_sleep(${slowMs / 1_000}) is not null`
      return { reference: key }
    },
    async verify(_input: unknown, { key }: { key: string }) {
      const rows = await sql()`select 1 from shop.movements where reference = ${key}`
      return rows.length > 0 ? applied({ reference: key }) : notApplied()
    },
  })
  const unbook = defineTool(booking(-1, 'warehouse.unbook', 'Take a booking of units out of the warehouse again'))
  const book = defineTool({ ...booking(1, 'warehouse.book', 'Book units into the warehouse'), undo: { tool: unbook, input: ({ input }: { input: z.infer<typeof quantityOf> }) => input } })
  return { book, unbook }
}
