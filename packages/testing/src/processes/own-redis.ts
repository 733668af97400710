/** A Redis of the tier's own, on a free port, gone with this process. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { PawlError } from '@pawl/core'

export interface OwnRedis {
  readonly url: string
  close(): Promise<void>
}

export async function startOwnRedis(): Promise<OwnRedis> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('no free port')
  const server = spawn('redis-server', ['--bind', '127.0.0.1', '--port', String(address.port), '--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const end = (): void => void server.kill('SIGKILL')
  process.once('exit', end)
  await new Promise<void>((resolve, reject) => {
    server.once('error', () => reject(new PawlError('NO_REDIS', 'redis-server is not on PATH. Install it (Debian: apt-get install redis-server), or ask for --queue postgres.', 'crash')))
    server.stdout.on('data', (text: Buffer) => { if (text.toString().includes('Ready to accept connections')) resolve() })
  })
  return {
    url: `redis://127.0.0.1:${address.port}`,
    async close() {
      process.off('exit', end)
      const ended = once(server, 'exit')
      end()
      await ended
    },
  }
}
