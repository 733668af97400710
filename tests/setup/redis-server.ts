/**
 * A real Redis of one's own: found on PATH, on a free loopback port, gone with its parent even when that is killed.
 * Suites that flush, restart or starve a Redis start their own here; the shared one is not theirs to break.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { connect, createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface RedisServer {
  readonly url: string
  readonly port: number
  /** SIGTERM, or the signal given; resolves when the process has ended. */
  stop(signal?: 'TERM' | 'KILL'): Promise<void>
}

const READY_MS = 10_000

/** The path of `redis-server` or `valkey-server`, or null where the machine has neither. */
export function findRedisBinary(): string | null {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    for (const name of ['redis-server', 'valkey-server']) {
      try {
        accessSync(join(folder, name), constants.X_OK)
        return join(folder, name)
      } catch {
        // not here
      }
    }
  }
  return null
}

/**
 * @param options.port to come back on the port of a server that was stopped; otherwise a free one.
 * @param options.settings Redis options that replace the defaults: no snapshot, no append-only file, noeviction.
 */
export async function startRedis(options: { port?: number; settings?: Readonly<Record<string, string>> } = {}): Promise<RedisServer> {
  const binary = findRedisBinary()
  if (binary === null) throw new Error('neither redis-server nor valkey-server is on PATH: install one (Debian: apt-get install redis-server), or set REDIS_URL')
  const port = options.port ?? (await findFreePort())
  const settings = { bind: '127.0.0.1', port: String(port), save: '', appendonly: 'no', 'maxmemory-policy': 'noeviction', ...options.settings }
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  // The shell waits on a pipe to us: when we are killed, the pipe ends and takes the server along.
  const script = '"$@" </dev/null >/dev/null 2>&1 & server=$!; read -r signal; kill -"${signal:-KILL}" "$server"; wait "$server"'
  const shell = spawn('/bin/sh', ['-c', script, 'redis', binary, ...flags], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  const ended = once(shell, 'exit')
  const stop = async (signal: 'TERM' | 'KILL' = 'TERM'): Promise<void> => {
    if (shell.exitCode === null && shell.signalCode === null) shell.stdin.end(`${signal}\n`)
    await ended
  }
  const deadline = Date.now() + READY_MS
  while (!(await answersPing(port))) {
    if (Date.now() > deadline) {
      await stop('KILL')
      throw new Error(`${binary} did not answer on 127.0.0.1:${port} within ${READY_MS / 1_000} s`)
    }
    await sleep(20)
  }
  return { url: `redis://127.0.0.1:${port}`, port, stop }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

async function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    const answer = (isReady: boolean): void => {
      socket.destroy()
      resolve(isReady)
    }
    socket.once('data', (reply) => answer(reply.toString().startsWith('+PONG')))
    socket.once('error', () => answer(false))
    socket.setTimeout(1_000, () => answer(false))
  })
}
