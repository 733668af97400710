/** What the worker processes of the tier serve: loaded by each of them, as a user's pawl.config is. `PAWL_CHAOS` says where the outside is. */
import { existsSync } from 'node:fs'
import { defineConfig } from '@pawl/harness'
import { Chance } from '../chaos/chance.ts'
import { chaosAgent } from '../chaos/chaos-agent.ts'
import { chaosTools } from '../chaos/chaos-tools.ts'
import { chaosPlace, resumedFile, tallyFile } from './chaos-place.ts'
import { collectOnSignal } from './collect-on-signal.ts'
import { FileTally } from './file-tally.ts'
import { matrixAgent } from './matrix-agent.ts'
import { standingHoleAgent } from './standing-hole-agent.ts'
import { watchAnswers } from './watch-answers.ts'

const { seed, effectsUrl, folder } = chaosPlace.parse(JSON.parse(process.env['PAWL_CHAOS'] ?? '{}'))
const chance = new Chance(seed)
const tally = new FileTally(tallyFile(folder))
watchAnswers(tally)
collectOnSignal()
const tools = chaosTools({ effects: { url: effectsUrl }, chance, tally })

export default defineConfig({ agents: [chaosAgent(chance, tools, (n) => existsSync(resumedFile(folder, n))), matrixAgent(tools), standingHoleAgent({ effectsUrl, folder })] })
