/** A real pgbouncer in transaction mode before a Postgres: found on PATH or in /usr/sbin, on a free loopback port, gone with its parent. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, chmodSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { until } from '../virtual-workers.ts'

export interface PgBouncer {
  /** The database behind it, through the pooler. */
  readonly url: string
  stop(): Promise<void>
}

export function findPgBouncer(): string | null {
  for (const folder of [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']) {
    try {
      accessSync(join(folder, 'pgbouncer'), constants.X_OK)
      return join(folder, 'pgbouncer')
    } catch {
      // not here
    }
  }
  return null
}

/** @param options.poolSize server connections for all clients together: fewer than there are clients, so that they really share. */
export async function startPgBouncer(target: string, options: { poolSize?: number } = {}): Promise<PgBouncer> {
  const binary = findPgBouncer()
  if (binary === null) throw new Error('pgbouncer is not on PATH (Debian: apt-get install pgbouncer)')
  const server = new URL(target)
  const name = server.pathname.slice(1)
  const port = await findFreePort()
  const folder = mkdtempSync(join(tmpdir(), 'pawl-pgbouncer-'))
  chmodSync(folder, 0o755)
  const file = join(folder, 'pgbouncer.ini')
  const login = server.password === '' ? '' : ` password=${decodeURIComponent(server.password)}`
  writeFileSync(file, `[databases]
${name} = host=${server.hostname} port=${server.port || '5432'} dbname=${name} user=${decodeURIComponent(server.username)}${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${options.poolSize ?? 3}
max_client_conn = 200
`)
  chmodSync(file, 0o644)
  // The shell waits on a pipe to us: when we are killed, the pipe ends and takes the pooler along.
  const shell = spawn('/bin/sh', ['-c', '"$@" </dev/null >/dev/null 2>&1 & pooler=$!; read -r _; kill "$pooler"; wait "$pooler"', 'pgbouncer', binary, file],
    { stdio: ['pipe', 'ignore', 'ignore'], detached: true, cwd: '/', ...account() })
  const ended = once(shell, 'exit')
  const stop = async (): Promise<void> => {
    shell.stdin.end()
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await until('pgbouncer answers', () => accepts(port), 10_000)
  } catch (error) {
    await stop()
    throw error
  }
  server.hostname = '127.0.0.1'
  server.port = String(port)
  return { url: server.href, stop }
}

/** pgbouncer refuses to run as root. */
function account(): { uid: number; gid: number } | Record<string, never> {
  if (process.getuid?.() !== 0) return {}
  const nobody = readFileSync('/etc/passwd', 'utf8').split('\n').map((line) => line.split(':')).find((fields) => fields[0] === 'nobody')
  return { uid: Number(nobody?.[2] ?? 65_534), gid: Number(nobody?.[3] ?? 65_534) }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function accepts(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => { socket.destroy(); resolve(true) })
    socket.once('error', () => resolve(false))
  })
}
