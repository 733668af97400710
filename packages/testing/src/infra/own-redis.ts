/** A redis-server of the tier's own, to be killed, emptied, rewound and started again. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Redis } from 'ioredis'

const readyMs = 20_000
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export class OwnRedis {
  #child: ChildProcess | undefined
  #snapshots = 0
  readonly #onExit = (): void => void this.#child?.kill('SIGKILL')

  private constructor(private readonly folder: string, readonly port: number) {
    process.once('exit', this.#onExit)
  }

  /** @param folder its own; made if missing. @throws where no redis-server is on PATH. */
  static async start(folder: string): Promise<OwnRedis> {
    mkdirSync(folder, { recursive: true })
    const redis = new OwnRedis(folder, await findFreePort())
    await redis.start()
    return redis
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** On the same port as before. @param snapshot a file `save` returned; without one it is empty. */
  async start(snapshot?: string): Promise<void> {
    rmSync(join(this.folder, 'dump.rdb'), { force: true })
    if (snapshot !== undefined) copyFileSync(snapshot, join(this.folder, 'dump.rdb'))
    const options = { bind: '127.0.0.1', port: String(this.port), dir: this.folder, dbfilename: 'dump.rdb', save: '', appendonly: 'no', 'maxmemory-policy': 'noeviction' }
    const child = spawn('redis-server', Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]), { stdio: 'ignore' })
    this.#child = child
    let failed: Error | undefined
    child.once('error', (error) => { failed = new Error(`this tier needs redis-server on PATH (Debian: apt-get install redis-server): ${error.message}`) })
    for (const until = Date.now() + readyMs; ;) {
      if (failed) throw failed
      if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode} before it answered on port ${this.port}`)
      if (await this.run('PING').then((answer) => answer === 'PONG', () => false)) return
      if (Date.now() > until) throw new Error(`redis-server did not answer on port ${this.port} within ${readyMs} ms`)
      await pause(20)
    }
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  /** One command, straight to the server, on a connection of its own. */
  async run(command: string, ...args: readonly string[]): Promise<unknown> {
    const operator = new Redis(this.url, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null })
    operator.on('error', () => {})
    try {
      return await operator.call(command, ...args)
    } finally {
      operator.disconnect()
    }
  }

  /** What it holds at this moment, as a file for `start`. */
  async save(): Promise<string> {
    await this.run('SAVE')
    const path = join(this.folder, `snapshot-${++this.#snapshots}.rdb`)
    copyFileSync(join(this.folder, 'dump.rdb'), path)
    return path
  }

  async close(): Promise<void> {
    process.off('exit', this.#onExit)
    await this.kill()
  }
}

/** Below the ports that are handed to outgoing connections, so that nobody takes it while the server is down. */
async function findFreePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
