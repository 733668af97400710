/**
 * An owner in a process of its own, for tests that kill it. Argument: the folder. Says one line of JSON when it owns
 * the server or was refused, and then waits to be killed or told to go: `release` or `detach` on its standard input.
 */
import { startEmbedded } from './index.ts'

const folder = process.argv[2] ?? ''
try {
  const embedded = await startEmbedded({ folder })
  process.stdin.on('data', (word) => {
    const gone = word.toString().trim() === 'release' ? embedded.release() : embedded.detach()
    void gone.then(() => process.exit(0))
  })
  process.stdout.write(`${JSON.stringify({ url: embedded.url, adopted: embedded.adopted })}\n`)
} catch (error) {
  const { code, message } = error as { code?: string; message: string }
  process.stdout.write(`${JSON.stringify({ code, message })}\n`)
}
