import { once } from 'node:events'
import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { chunksOf, parseJson } from './read-json.ts'

describe('parseJson', () => {
  test.each(['{"a":[1,2.5,-3e10,true,null,"\\"9007199254740993\\\\"]}', '9007199254740991', '-0.1', '1e400', '"[[[["', '""', '12345678901234567e-3'.slice(0, 15)])('%s is what JSON.parse makes of it', (text) => {
    expect(parseJson(text, 'It')).toEqual(JSON.parse(text))
  })
  test.each(['9007199254740993', '-9007199254740993', '[5810142810638157171]', '{"a":0.12345678901234567891}'])('%s is refused and not changed', (text) => {
    expect(() => parseJson(text, 'It')).toThrow(/It holds the number .* a double would change/)
  })
  test.each(['', '{', '"abc', '"abc\\', '[1,]', '{"a":1}}', 'NaN', '\u0000'])('%j is refused as no JSON', (text) => {
    expect(() => parseJson(text, 'It')).toThrow(/It is not JSON/)
  })
  test('a hundred megabytes of nesting are refused before they are parsed', () => {
    expect(() => parseJson('['.repeat(10_000_000), 'It')).toThrow(/deeper than 500/)
  })
})

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
