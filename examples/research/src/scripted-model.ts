/** The scripted model as a server in its own process: `node scripted-model.js LOG SLOW_MS`. Prints its address. Its log is what the demo believes about model calls. */
import { setTimeout as sleep } from 'node:timers/promises'
import { startModelServer } from 'pawl/testing'
import { decide } from './script.ts'

const [logFile = '', slowMs = '0'] = process.argv.slice(2)

const server = await startModelServer({
  ...(logFile === '' ? {} : { logFile }),
  // A model takes its time: a worker killed meanwhile asked in vain.
  decide: async (conversation) => {
    await sleep(Number(slowMs))
    return decide(conversation)
  },
})
process.stdout.write(`${server.url}\n`)
process.on('disconnect', () => process.exit(0))
