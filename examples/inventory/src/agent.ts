import { defineAgent } from 'pawl'
import { z } from 'zod'
import { takeStock, warehouseTools, type WarehouseOptions } from './tools.ts'

/** Moves units of each article from the shelf to the warehouse. One article of the list does not exist: that item fails for good, and the run's policy unwinds everything. */
export const inventoryAgent = (warehouse: WarehouseOptions) => defineAgent({
  name: 'inventory', version: '1',
  inputSchema: z.object({ moves: z.array(z.object({ sku: z.string(), quantity: z.number().int().positive() })) }),
  payloadSchema: z.object({ sku: z.string(), quantity: z.number().int().positive() }),
  tools: { take: takeStock, book: warehouseTools(warehouse).book },
  *split({ moves }) { for (const move of moves) yield { key: move.sku, payload: move } },
  async run({ payload, tools }) {
    await tools.take(payload)
    const { reference } = await tools.book(payload)
    return { resultRef: reference }
  },
  policy: { onFailure: 'compensate', maxFailures: 1 },
})
