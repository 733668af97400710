import { once } from 'node:events'
import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { chunksOf } from './read-json.ts'

describe('chunksOf', () => {
  test('gives up on a sender that stops in the middle, and can still answer it', async () => {
    const server = createServer((incoming: IncomingMessage, outgoing) => {
      const read = async (): Promise<void> => {
        for await (const _ of chunksOf(incoming, 100)) { /* only its end matters */ }
      }
      read().then(() => outgoing.end('whole'), (error: unknown) => outgoing.end((error as { code?: string }).code))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const sending = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', method: 'POST', headers: { 'content-length': 100 } })
    sending.on('error', () => undefined)
    sending.write('half')
    const [answer] = (await once(sending, 'response')) as [IncomingMessage]
    const parts: Buffer[] = []
    for await (const part of answer) parts.push(part as Buffer)
    expect(Buffer.concat(parts).toString()).toBe('TOO_SLOW')
    sending.destroy()
    server.closeAllConnections()
    server.close()
  })
})
