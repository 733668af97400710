/** `node outside-main.js FOLDER TOPIC…`: everything the agent needs around it, until Ctrl-C. Prints the environment for the workers. */
import { startOutside } from './outside.ts'

const [folder, ...topics] = process.argv.slice(2)
if (folder === undefined || topics.length === 0) {
  process.stderr.write('node outside-main.js FOLDER TOPIC…\n')
  process.exit(2)
}
const outside = await startOutside(folder, topics, { model: 100, memory: 0, mail: 0 })
process.stdout.write(`${Object.entries(outside.env).map(([name, value]) => `export ${name}=${value}`).join('\n')}\n`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void outside.close().then(() => process.exit(0)))
