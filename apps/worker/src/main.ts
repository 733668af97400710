/** `node main.js`: the fleet of this host, until SIGTERM or SIGINT. */
import { startWorkers } from './index.ts'

try {
  const workers = await startWorkers(process.env)
  let isStopping = false
  const stop = (): void => {
    if (isStopping) return
    isStopping = true
    void workers.stop().then(() => process.exit(0))
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}
