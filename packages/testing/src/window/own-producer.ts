/** A producer in a process of its own, as it runs in production, with one token: the dashboard's. */
import { spawn, type ChildProcess } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../../../../apps/producer/dist/main.js', import.meta.url))

export class OwnProducer {
  private constructor(readonly url: string, readonly token: string, private readonly child: ChildProcess) {}

  static async start(env: Readonly<Record<string, string>>): Promise<OwnProducer> {
    const token = randomBytes(24).toString('hex')
    const sha256 = createHash('sha256').update(token).digest('hex')
    const child = spawn(process.execPath, [program], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...env, PAWL_HOST: '127.0.0.1', PAWL_PORT: '0', PAWL_LOG_LEVEL: 'info', PAWL_TOKENS: `dashboard:read+run+operate+delegate:${sha256}` },
    })
    process.once('exit', () => child.kill('SIGKILL'))
    const said: string[] = []
    const url = await new Promise<string>((resolve, reject) => {
      child.once('exit', () => reject(new Error(`the producer did not start: ${said.join('\n')}`)))
      createInterface({ input: child.stderr }).on('line', (line) => {
        said.push(line)
        const found = /"url":"(http:[^"]+)"/.exec(line)?.[1]
        if (found !== undefined) resolve(found)
      })
    })
    return new OwnProducer(url, token, child)
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const ended = once(this.child, 'exit')
    this.child.kill('SIGTERM')
    await ended
  }
}
