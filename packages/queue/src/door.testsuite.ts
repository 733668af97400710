/** A door in front of a real server, so that a test can shut it, freeze it and open it again at the same address. */
import { connect, createServer, type AddressInfo, type NetConnectOpts, type Socket } from 'node:net'

export interface Door {
  /** The server's URL, through the door. */
  readonly url: string
  /** Nobody gets in, and whoever is in is thrown out. */
  shut(): Promise<void>
  /** Whoever is in stays in and hears nothing more; whoever comes later gets through. */
  blackHole(): void
  open(): Promise<void>
}

function targetOf(url: URL, defaultPort: number): NetConnectOpts {
  const port = Number(url.port || defaultPort)
  const socket = url.searchParams.get('host')
  return socket?.startsWith('/') === true ? { path: `${socket}/.s.PGSQL.${port}` } : { host: url.hostname, port }
}

export async function openDoor(serverUrl: string): Promise<Door> {
  const url = new URL(serverUrl.replace('@/', '@localhost/'))
  const target = targetOf(url, url.protocol.startsWith('redis') ? 6379 : 5432)
  const sockets = new Set<Socket>()
  const dead = new Set<Socket>()
  let port = 0

  function pass(from: Socket, to: Socket): void {
    sockets.add(from)
    from.on('data', (chunk) => { if (!dead.has(from)) to.write(chunk) })
    from.on('error', () => { to.destroy() })
    from.on('close', () => { sockets.delete(from); to.destroy() })
  }
  const server = createServer((inside) => {
    const outside = connect(target)
    pass(inside, outside)
    pass(outside, inside)
  })
  async function open(): Promise<void> {
    if (server.listening) return
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', resolve)
    })
    port = (server.address() as AddressInfo).port
  }
  await open()
  url.hostname = '127.0.0.1'
  url.port = String(port)
  url.searchParams.delete('host')
  return {
    url: url.href,
    open,
    blackHole: () => { for (const socket of sockets) dead.add(socket) },
    async shut() {
      const closed = new Promise<void>((resolve) => { server.close(() => { resolve() }) })
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
