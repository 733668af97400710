/**
 * A TCP proxy to put before a Postgres, a Redis or an HTTP server, whose connections can be slowed, cut, or left open and silent while tests run.
 *
 * Silence is a partition: bytes, ends and resets of a silent direction are held, not lost. `heal` lets them through late, as TCP does once the
 * network is back; `cut` loses them. Neither side hears of the other's going meanwhile, so a server keeps what a client left behind.
 */
import { once } from 'node:events'
import { connect, createServer, type NetConnectOpts, type Socket } from 'node:net'
import { FaultPipe } from './fault-proxy-pipe.ts'

export type Direction = 'toServer' | 'fromServer' | 'both'

export interface FaultProxy {
  /** The server's URL, through the proxy: host and port replaced, the rest as it was. */
  readonly url: string
  /** Connections that clients hold now. */
  readonly connections: number
  /** Bytes arrive so much later, each way, on every connection. 0: at once. */
  latency(ms: number): void
  /** Resets every connection; what was held is lost. New ones get through. */
  cut(): void
  /** Connections of this moment stay open and nothing passes any more, one way or both; new ones get through. Default: both. */
  halfOpen(direction?: Direction): void
  /** Nothing passes on any connection; new ones are accepted and hear nothing. */
  blackHole(): void
  /** Resets every connection, and each new one at once: the server is down. */
  shut(): void
  /** No fault any more: latency gone, what was held is passed on, new connections get through. */
  heal(): void
  /** New connections go to this server from now on; those that are open stay where they are. */
  retarget(serverUrl: string): void
  /** Resets every connection and stops listening. */
  close(): Promise<void>
}

interface Connection {
  readonly client: Socket
  server?: Socket
  pipes: readonly FaultPipe[]
  readonly held: { toServer: boolean; fromServer: boolean }
}

const defaultPorts: Readonly<Record<string, number>> = { 'postgres:': 5432, 'postgresql:': 5432, 'redis:': 6379, 'rediss:': 6379, 'http:': 80, 'https:': 443 }

/** `?host=/folder` is a Postgres on a Unix socket. */
function targetOf(serverUrl: string): NetConnectOpts {
  const url = parse(serverUrl)
  const port = Number(url.port || defaultPorts[url.protocol])
  if (!Number.isInteger(port)) throw new Error(`a fault proxy needs the port of ${url.protocol}//${url.hostname}: write it into the URL`)
  const folder = url.searchParams.get('host')
  return folder?.startsWith('/') === true ? { path: `${folder}/.s.PGSQL.${port}`, allowHalfOpen: true } : { host: url.hostname.replace(/^\[|\]$/g, ''), port, allowHalfOpen: true }
}

const parse = (serverUrl: string): URL => new URL(serverUrl.replace('@/', '@localhost/'))

/** @param serverUrl `postgres://…`, `redis://…`, `http://…`, or `tcp://host:port`. Listens on a free port of 127.0.0.1. */
export async function startFaultProxy(serverUrl: string): Promise<FaultProxy> {
  const proxy = new Proxy(serverUrl)
  await proxy.listen()
  return proxy
}

class Proxy implements FaultProxy {
  url = ''
  #target: NetConnectOpts
  #latencyMs = 0
  #entrance: 'open' | 'silent' | 'shut' = 'open'
  readonly #connections = new Set<Connection>()
  readonly #server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => this.#accept(client))

  constructor(private readonly first: string) {
    this.#target = targetOf(first)
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    const address = this.#server.address()
    const url = parse(this.first)
    url.searchParams.delete('host')
    url.hostname = '127.0.0.1'
    url.port = String(typeof address === 'object' && address ? address.port : 0)
    this.url = url.href
  }

  get connections(): number {
    return this.#connections.size
  }

  #accept(client: Socket): void {
    client.on('error', () => {})
    if (this.#entrance === 'shut') return void client.resetAndDestroy()
    const silent = this.#entrance === 'silent'
    const connection: Connection = { client, pipes: [], held: { toServer: silent, fromServer: silent } }
    this.#connections.add(connection)
    client.once('close', () => this.#forget(connection))
    if (!silent) this.#reach(connection)
  }

  #reach(connection: Connection): void {
    const { client, held } = connection
    const server = connect(this.#target)
    server.on('error', () => {})
    server.once('close', () => this.#forget(connection))
    connection.server = server
    const latency = (): number => this.#latencyMs
    connection.pipes = [new FaultPipe(client, server, () => held.toServer, latency), new FaultPipe(server, client, () => held.fromServer, latency)]
  }

  /** A side that is gone behind a silence is still to be told to the other. */
  #forget(connection: Connection): void {
    if (connection.client.destroyed && (connection.server?.destroyed ?? true)) this.#connections.delete(connection)
  }

  latency(ms: number): void {
    this.#latencyMs = ms
  }

  cut(): void {
    for (const connection of this.#connections) {
      for (const pipe of connection.pipes) pipe.drop()
      connection.client.resetAndDestroy()
      connection.server?.resetAndDestroy()
    }
    this.#connections.clear()
  }

  halfOpen(direction: Direction = 'both'): void {
    for (const connection of this.#connections) this.#hold(connection, direction)
  }

  #hold({ held, pipes }: Connection, direction: Direction): void {
    if (direction !== 'fromServer') held.toServer = true
    if (direction !== 'toServer') held.fromServer = true
    for (const pipe of pipes) pipe.update()
  }

  blackHole(): void {
    this.#entrance = 'silent'
    this.halfOpen()
  }

  shut(): void {
    this.#entrance = 'shut'
    this.cut()
  }

  heal(): void {
    this.#entrance = 'open'
    this.#latencyMs = 0
    for (const connection of this.#connections) {
      connection.held.toServer = false
      connection.held.fromServer = false
      if (connection.server === undefined) this.#reach(connection)
      for (const pipe of connection.pipes) pipe.update()
    }
  }

  retarget(serverUrl: string): void {
    this.#target = targetOf(serverUrl)
  }

  async close(): Promise<void> {
    this.shut()
    if (!this.#server.listening) return
    this.#server.close()
    await once(this.#server, 'close')
  }
}
