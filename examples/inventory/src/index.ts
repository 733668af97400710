export { inventoryAgent } from './agent.ts'
export { createShop, openShop, type Shop } from './schema.ts'
