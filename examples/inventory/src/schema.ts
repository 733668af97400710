/** The shop's own tables, beside the ledger in the same Postgres: stock, and a warehouse that keeps a movement per booking. */
import postgres from 'postgres'

export interface Shop {
  /** Units of one article now. */
  stock(sku: string): Promise<number>
  stockOfAll(): Promise<Map<string, number>>
  bookedOfAll(): Promise<Map<string, number>>
  /** Rows the warehouse wrote, oldest first. Nothing stops two rows with one reference: a doubled booking would be seen. */
  movements(): Promise<{ reference: string; sku: string; quantity: number }[]>
  /** The outside writer: somebody else's sale. */
  sellOne(sku: string): Promise<void>
  close(): Promise<void>
}

export async function openShop(databaseUrl: string): Promise<Shop> {
  const sql = postgres(databaseUrl, { max: 2, onnotice: () => {}, backoff: () => 0.1 })
  const numbers = (rows: readonly Record<string, unknown>[]) => new Map(rows.map((row) => [String(row['sku']), Number(row['units'])]))
  return {
    async stock(sku) { return Number((await sql`select units from shop.stock where sku = ${sku}`)[0]?.['units']) },
    async stockOfAll() { return numbers(await sql`select sku, units from shop.stock order by sku`) },
    async bookedOfAll() { return numbers(await sql`select sku, units from shop.warehouse order by sku`) },
    async movements() {
      return (await sql`select reference, sku, quantity from shop.movements order by id`)
        .map((row) => ({ reference: String(row['reference']), sku: String(row['sku']), quantity: Number(row['quantity']) }))
    },
    async sellOne(sku) { await sql`update shop.stock set units = units - 1 where sku = ${sku}` },
    async close() { await sql.end({ timeout: 2 }) },
  }
}

/** Creates the tables with `units` of each article. */
export async function createShop(databaseUrl: string, skus: readonly string[], units: number): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  try {
    await sql`create schema shop`
    await sql`create table shop.stock (sku text primary key, units integer not null check (units >= 0))`
    await sql`create table shop.warehouse (sku text primary key, units integer not null)`
    await sql`create table shop.movements (id bigint generated always as identity primary key, reference text not null, sku text not null, quantity integer not null)`
    for (const sku of skus) {
      await sql`insert into shop.stock values (${sku}, ${units})`
      await sql`insert into shop.warehouse values (${sku}, 0)`
    }
  } finally {
    await sql.end({ timeout: 2 })
  }
}
