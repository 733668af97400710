/** What the workers and the producer of the browser tests' world serve: loaded by each of them, as a user's pawl.config is. `PAWL_WINDOW` says where the outside is. */
import { defineConfig } from '@pawl/harness'
import { windowPlace } from './place.ts'
import { shopAgents } from './shop-agents.ts'

export default defineConfig({ agents: [...shopAgents(windowPlace.parse(JSON.parse(process.env['PAWL_WINDOW'] ?? '{}')))] })
