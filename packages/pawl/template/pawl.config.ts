/** Which agents there are. `pawl dev` reads it, and loads everything anew when this file or one it imports changes. */
import { defineConfig } from 'pawl'
import { letters } from './agents/letters.ts'

export default defineConfig({ agents: [letters] })
