import { defineConfig } from 'pawl'
import { inventoryAgent } from './agent.ts'

const databaseUrl = (): string => {
  const url = process.env['DATABASE_URL']
  if (url === undefined) throw new Error('the inventory example keeps its stock in the ledger\'s own Postgres: set DATABASE_URL')
  return url
}

export default defineConfig({ agents: [inventoryAgent({ databaseUrl, slowMs: Number(process.env['INVENTORY_SLOW_MS'] ?? 0) })] })
