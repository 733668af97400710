/** Stock from the shelf to the warehouse, while an outside writer sells; one article does not exist, so the run unwinds; and workers die all along. */
import { fileURLToPath } from 'node:url'
import { createShop, inventoryAgent, openShop, type Shop } from '@pawl/example-inventory'
import type { Ledger } from '@pawl/ledger'
import type { Example, Proof, World, WorldOptions } from './world.ts'

const units = 100
const soldOutside = 7
const missing = 'article-missing'

export const inventory: Example = {
  name: 'inventory',
  about: 'Stock updates in Postgres, some transactional, some only verifiable, while somebody else sells 7 units; the run fails half-way and is compensated newest first.',
  worlds: [openInventory],
}

async function openInventory({ databaseUrl, isSmall }: WorldOptions): Promise<World> {
  const articles = isSmall ? 20 : 60
  const skus = Array.from({ length: articles }, (_, i) => `article-${String(i + 1).padStart(3, '0')}`)
  await createShop(databaseUrl, skus, units)
  let shop = await openShop(databaseUrl)
  const moves = skus.map((sku, i) => ({ sku, quantity: 1 + (i % 5) }))
  moves.splice(articles / 2, 0, { sku: missing, quantity: 1 })
  let sold = 0
  let ticks = 0
  return {
    agent: inventoryAgent({ databaseUrl: () => databaseUrl }),
    input: { moves },
    configPath: fileURLToPath(import.meta.resolve('@pawl/example-inventory/config')),
    env: { INVENTORY_SLOW_MS: '120' },
    expectedActions: articles * 4,
    items: moves.length,
    workers: { processes: 3, concurrency: 3, timings: { sendWindowMs: 1_500 } },
    kills: { workers: isSmall ? 2 : 6, everything: true, between: [0.06, 0.92] },
    endings: ['compensated'],
    async tick() {
      ticks++
      if (sold >= soldOutside || ticks % 40 !== 0) return
      const sku = skus[(sold * 7) % skus.length] ?? skus[0]
      if (sku === undefined) return
      try {
        await shop.sellOne(sku)
        sold++
      } catch {
        // The database is being restarted; the customer comes back.
        await shop.close()
        shop = await openShop(databaseUrl)
      }
    },
    prove: async (ledger, runId) => {
      await shop.close()
      shop = await openShop(databaseUrl)
      while (sold < soldOutside) {
        await shop.sellOne(skus[(sold * 7) % skus.length] ?? '')
        sold++
      }
      return await prove(ledger, runId, shop, skus, sold)
    },
    close: async () => { await shop.close() },
  }
}

async function prove(ledger: Ledger, runId: string, shop: Shop, skus: readonly string[], sold: number): Promise<Proof> {
  const faults: string[] = []
  const stock = await shop.stockOfAll()
  const total = [...stock.values()].reduce((sum, n) => sum + n, 0)
  const expected = skus.length * units - sold
  if (total !== expected) faults.push(`the shelf holds ${total} units; ${expected} would be right`)
  const booked = [...(await shop.bookedOfAll()).values()].reduce((sum, n) => sum + Math.abs(n), 0)
  if (booked !== 0) faults.push(`${booked} units stand in the warehouse after everything was undone`)
  const movements = await shop.movements()
  const references = new Set(movements.map((movement) => movement.reference))
  const duplicates = movements.length - references.size
  const [rows] = await ledger.query(`select
    count(*) filter (where a.undoes is null and a.effect <> 'read' and a.status = 'compensated')::integer as writes,
    count(*) filter (where a.undoes is not null and a.status = 'committed')::integer as undos,
    count(*) filter (where a.undoes is null and a.effect <> 'read' and a.status = 'committed')::integer as standing,
    count(*) filter (where a.tool like 'warehouse.%' and a.status in ('committed', 'compensated'))::integer as bookings
    from pawl.actions a where a.run_id = $1`, [runId])
  const [writes, undos, standing, bookings] = ['writes', 'undos', 'standing', 'bookings'].map((name) => Number(rows?.[name]))
  if (writes !== undos) faults.push(`${writes} writes but ${undos} undos`)
  if (standing !== 0) faults.push(`${standing} writes still stand`)
  const disorder = await ledger.query(`select 1 from pawl.actions u join pawl.actions o on o.run_id = u.run_id and o.id = u.undoes
    join pawl.actions v on v.run_id = u.run_id and v.undoes is not null and v.committed_at > u.committed_at join pawl.actions p on p.run_id = v.run_id and p.id = v.undoes
    where u.run_id = $1 and p.order_no > o.order_no limit 1`, [runId])
  if (disorder.length > 0) faults.push('an older write was undone before a newer one')
  const lost = Math.max(0, (bookings ?? 0) - references.size)
  return {
    effects: (writes ?? 0) + (undos ?? 0), duplicates, lost, faults,
    facts: [
      `the shelf holds ${total} units: ${skus.length * units} at the start less the ${sold} sold outside`,
      `${writes} committed writes, ${undos} undos, newest first; ${movements.length} movements in the warehouse under ${references.size} references`,
    ],
  }
}
