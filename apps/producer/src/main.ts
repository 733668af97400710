/** `node main.js`: the producer, until SIGTERM or SIGINT. */
import { startProducer } from './index.ts'

try {
  const producer = await startProducer({ env: process.env })
  let isStopping = false
  const stop = (): void => {
    if (isStopping) return
    isStopping = true
    void producer.close().then(() => process.exit(0))
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}
