import { defineConfig } from 'pawl'
import { researchAgent } from './agent.ts'
import { readSettings } from './settings.ts'
import { openTools } from './tools.ts'

const settings = readSettings(process.env)

export default defineConfig({ agents: [researchAgent(await openTools(settings), settings.model)] })
