/**
 * Starts and stops the server process. It lives in its own session, so that neither Ctrl-C in the terminal nor the
 * death of the process that started it takes it down; the next start adopts it. A start is judged by the child's
 * exit, not by a probe: a probe may be answered by somebody else's server.
 */
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { PawlError } from '@pawl/core'
import type { Binaries } from './binaries.ts'
import { readPort } from './pid-file.ts'
import type { Place } from './place.ts'
import { findServer } from './processes.ts'

export interface Running {
  /** Undefined while it is not known. */
  port(): number | undefined
  /** Undefined while it runs. */
  exit(): string | undefined
}

const LOG_LIMIT_BYTES = 10_000_000

export async function launchServer(place: Place, binaries: Binaries): Promise<Running> {
  const port = await choosePort(readPort(place))
  writeFileSync(place.port, `${port}\n`, { mode: 0o600 })
  if (existsSync(place.log) && statSync(place.log).size > LOG_LIMIT_BYTES) renameSync(place.log, `${place.log}.old`)
  const settings = {
    cluster_name: place.tag,
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '200',
    shared_buffers: '64MB',
  }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const log = openSync(place.log, 'a', 0o600)
  let ended: string | undefined
  const child = spawn(binaries.postgres, ['-D', place.data, ...options], { cwd: '/', env: binaries.env, detached: true, stdio: ['ignore', log, log], ...place.account })
  child.once('error', (error) => (ended = error.message))
  child.once('exit', (code, signal) => (ended = signal === null ? `exit code ${code}` : `signal ${signal}`))
  child.unref()
  closeSync(log)
  return { port: () => port, exit: () => ended }
}

/** Fast shutdown; harder where it does not come to an end. Returns whether there was anything to stop. */
export async function stopServer(place: Place): Promise<boolean> {
  const { pids } = findServer(place)
  for (const [signal, waitMs] of [['SIGINT', 15_000], ['SIGQUIT', 5_000], ['SIGKILL', 5_000]] as const) {
    const { postmaster, pids: left } = findServer(place)
    for (const pid of signal === 'SIGKILL' ? left : [postmaster]) if (pid !== undefined) sendSignal(pid, signal)
    if (await isGone(place, waitMs)) return pids.length > 0
  }
  throw new PawlError('EMBEDDED_STOP_FAILED', `The Postgres of ${place.asked} does not end (pids ${findServer(place).pids.join(', ')}). End these processes by hand.`, 'tell', { folder: place.asked })
}

export function readLogTail(place: Place): string {
  if (!existsSync(place.log)) return ''
  const lines = readFileSync(place.log, 'utf8').trimEnd().split('\n')
  return lines.filter((line) => /FATAL|PANIC|ERROR|error/.test(line)).slice(-2).join(' ')
}

async function choosePort(remembered: number | undefined): Promise<number> {
  if (remembered !== undefined && (await tryListen(remembered)) !== undefined) return remembered
  const port = await tryListen(0)
  if (port === undefined) throw new PawlError('EMBEDDED_NO_PORT', 'No free port on 127.0.0.1 for the embedded Postgres. Close something, or set DATABASE_URL.')
  return port
}

async function tryListen(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen({ port, host: '127.0.0.1' }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined))
    })
  })
}

async function isGone(place: Place, waitMs: number): Promise<boolean> {
  const deadline = Date.now() + waitMs
  while (findServer(place).pids.length > 0) {
    if (Date.now() > deadline) return false
    await sleep(20)
  }
  return true
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
