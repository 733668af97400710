import { defineConfig } from 'pawl'
import { migrationAgent } from './agent.ts'
import { findLodash } from './modules.ts'

const out = process.env['MIGRATION_OUT']
if (out === undefined) throw new Error('set MIGRATION_OUT to the git repository the migrated modules are committed to')

export default defineConfig({ agents: [migrationAgent({ original: findLodash(), out })] })
