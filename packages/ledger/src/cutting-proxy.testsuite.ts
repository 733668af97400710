/** A TCP proxy before Postgres that can lose what matters: the server's answer after it did the work, or the whole connection. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface CuttingProxy {
  readonly url: string
  /** From now on answers are swallowed; resolves when one was, and the connection cut. */
  loseNextAnswer(): Promise<void>
  /** Cuts all connections and accepts none until `open()`. */
  shut(): void
  open(): void
  /** How often an answer was lost. */
  readonly lost: number
  close(): Promise<void>
}

/** @param tag the command whose answer counts: its completion tag, as the server sends it. */
export async function startCuttingProxy(target: string, tag = 'SELECT '): Promise<CuttingProxy> {
  const to = new URL(target)
  const sockets = new Set<Socket>()
  let lose: (() => void) | undefined
  let isShut = false
  let lost = 0
  const server = createServer((client) => {
    if (isShut) return client.destroy()
    const upstream = connect(Number(to.port || 5432), to.hostname)
    for (const [socket, peer] of [[client, upstream], [upstream, client]] as const) {
      sockets.add(socket)
      socket.on('error', () => peer.destroy())
      socket.on('close', () => { sockets.delete(socket); peer.destroy() })
    }
    client.on('data', (bytes) => upstream.write(bytes))
    upstream.on('data', (bytes) => {
      // The command has completed: the server did it, the client never hears.
      if (lose && bytes.includes(tag)) {
        lost++
        lose()
        lose = undefined
        client.destroy()
        return
      }
      client.write(bytes)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String(typeof address === 'object' && address ? address.port : 0)
  const cut = (): void => { for (const socket of sockets) socket.destroy() }
  return {
    url: url.href,
    loseNextAnswer: () => new Promise((resolve) => { lose = resolve }),
    shut() { isShut = true; cut() },
    open() { isShut = false },
    get lost() { return lost },
    async close() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}
