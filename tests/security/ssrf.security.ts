/** What a URL that a model or a payload chose can reach: nothing inside. Real sockets, a real name server. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { rejection, testContext } from '../../packages/tools/src/fixtures/context.testsuite.ts'
import { json, startReceiver, type Receiver } from '../../packages/tools/src/fixtures/receiver.testsuite.ts'
import { httpRequest, type HttpMethod, type HttpRequestOptions } from '../../packages/tools/src/http/index.ts'
import { startNameServer, type NameServer } from './ground/dns.ts'

/** Inside: whoever reaches it has won. */
let inside: Receiver
let port: string
let names: NameServer
beforeAll(async () => { names = await startNameServer() })
afterAll(() => names?.close())
beforeEach(async () => {
  inside = await startReceiver()
  port = inside.host.split(':')[1] ?? ''
})
afterEach(() => inside.close())

const call = (url: string, options: Partial<HttpRequestOptions> = {}) =>
  rejection(httpRequest({ method: 'GET', ...options }).execute({ url }, testContext('key', { signal: AbortSignal.timeout(3_000) })))
const nothingReached = () => expect(inside.connections()).toBe(0)
const reason = (error: unknown): string => (error instanceof Error ? `${error.name}: ${error.message}` : String(error))

describe('an address inside', () => {
  const loopback = [
    '127.0.0.1', '127.1', '127.0.1', '127.255.255.254', '0', '0.0.0.0', '2130706433', '017700000001', '0177.0.0.1', '0x7f000001', '0x7f.1', '0X7F.0x0.0x0.0x1', '127.0.0.1.', '１２７.０.０.１', '①②⑦.⓪.⓪.①', '127。0。0。1', '%31%32%37.0.0.1',
    '[::1]', '[0:0:0:0:0:0:0:1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[0:0:0:0:0:ffff:7f00:0001]', '[::127.0.0.1]', '[::7f00:1]', '[64:ff9b::127.0.0.1]', '[64:ff9b:1::127.0.0.1]', '[2002:7f00:1::]', '[2001:0:7f00:1::]', '[::ffff:0:127.0.0.1]',
  ]
  const elsewhere = [
    '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1', '100.64.0.1', '100.100.100.200', '169.254.169.254', '0xa9fea9fe', '2852039166', '[::ffff:169.254.169.254]', '[64:ff9b::a9fe:a9fe]', '168.63.129.16', '192.0.0.192', '198.18.0.1', '224.0.0.1', '255.255.255.255', '240.0.0.1',
    '[fd00:ec2::254]', '[fc00::1]', '[fe80::1]', '[fec0::1]', '[ff02::1]', '[2001:db8::1]', '[100::1]', '[2002:a9fe:a9fe::]', '[5f00::1]', '[4000::1]',
  ]

  test.for([...loopback, ...elsewhere])('%s is refused at the schema, and again when the call is made', async (host) => {
    const url = `http://${host}:${port}/latest/meta-data/`
    expect(httpRequest({ method: 'POST' }).inputSchema.safeParse({ url }).success).toBe(false)
    const error = reason(await call(url))
    // Refused by the guard, not by luck: an address that nobody answers would be an error too.
    expect(error).toMatch(/is not a public address|Invalid URL|not an absolute URL/)
    nothingReached()
  })

  test.for(['file:///etc/passwd', 'gopher://127.0.0.1:6379/_x', 'ftp://10.0.0.1/', 'data:text/plain,x', 'javascript:1', 'ws://127.0.0.1/', 'unix:/run/docker.sock'])('%s is no address of this tool', async (url) => {
    expect(httpRequest({ method: 'GET' }).inputSchema.safeParse({ url }).success).toBe(false)
    expect(await call(url)).toBeInstanceOf(Error)
  })
})

describe('a name', () => {
  test.for([
    ['loopback', '127.0.0.1'], ['loopback in IPv6', '::1'], ['mapped', '::ffff:127.0.0.1'], ['compatible', '::127.0.0.1'], ['NAT64', '64:ff9b::7f00:1'], ['6to4', '2002:7f00:1::'], ['private', '10.1.2.3'], ['link-local', '169.254.169.254'], ['unique local', 'fd00:ec2::254'], ['unspecified', '0.0.0.0'],
  ] as const)('that resolves inside (%s) is refused', async ([kind, address]) => {
    const name = `${kind.replaceAll(' ', '-').toLowerCase()}.names.test`
    names.answers.set(name, [[address]])
    expect(reason(await call(`http://${name}:${port}/`))).toContain('is not a public address')
    expect(names.lookups(name)).toBe(1)
    nothingReached()
  })

  test('with one address outside and one inside is refused, whichever comes first', async () => {
    for (const [i, addresses] of [['2d00::1', '::1'], ['::1', '2d00::1'], ['2d00::1', '127.0.0.1']].entries()) {
      names.answers.set(`mixed${i}.names.test`, [addresses])
      expect(reason(await call(`http://mixed${i}.names.test:${port}/`))).toContain('is not a public address')
    }
    nothingReached()
  })

  test('that resolves outside when it is checked and inside when it is used reaches nothing: what was checked is what is connected to', async () => {
    names.answers.set('rebound.names.test', [['2d00::1'], ['127.0.0.1']])
    // Nobody lives at the first address: the connection fails there, and is not made elsewhere.
    expect(await call(`http://rebound.names.test:${port}/`)).toBeInstanceOf(Error)
    expect(names.lookups('rebound.names.test')).toBe(1)
    nothingReached()
    expect(reason(await call(`http://rebound.names.test:${port}/`))).toContain('is not a public address')
    nothingReached()
  })

  test('of this machine is refused: localhost, and with a dot', async () => {
    for (const host of ['localhost', 'localhost.', 'LOCALHOST', 'ip6-localhost']) expect(await call(`http://${host}:${port}/`)).toBeInstanceOf(Error)
    nothingReached()
  })
})

describe('a redirect', () => {
  test.for(['GET', 'HEAD', 'POST', 'PUT', 'DELETE'] as const)('is not followed by a %s, wherever it leads', async (method: HttpMethod) => {
    const allowed = await startReceiver()
    try {
      for (const status of [301, 302, 303, 307, 308]) {
        for (const location of [`${inside.url}/latest/meta-data/`, `//127.0.0.1:${port}/`, `http://[::ffff:127.0.0.1]:${port}/`]) {
          allowed.answer = (_, response) => json(response, status, {}, { location })
          expect(reason(await call(allowed.url, { method, allowPrivate: [allowed.host] }))).toContain(`answered ${status}`)
        }
      }
      expect(allowed.receipts).toHaveLength(15)
      nothingReached()
    } finally {
      await allowed.close()
    }
  })
})

describe('what the operator allowed', () => {
  test('is that host and port, no other of the same machine, by no other name', async () => {
    const allowed = await startReceiver()
    try {
      const options = { allowPrivate: [allowed.host] }
      names.answers.set('friend.names.test', [['127.0.0.1']])
      const other = allowed.host.split(':')[1]
      for (const url of [inside.url, `http://friend.names.test:${other}/`, `http://localhost:${other}/`, `http://[::ffff:127.0.0.1]:${other}/`]) expect(reason(await call(url, options)), url).toContain('is not a public address')
      expect(allowed.connections()).toBe(0)
      nothingReached()
      expect(await httpRequest({ method: 'GET', ...options }).execute({ url: allowed.url }, testContext())).toMatchObject({ status: 200 })
    } finally {
      await allowed.close()
    }
  })

  test('is a host as it is written, not what looks like it', () => {
    const { inputSchema } = httpRequest({ method: 'GET', allowHosts: ['api.example.com', '*.partner.example'] })
    for (const url of [
      'https://api.example.com.evil.example/', 'https://evil.example/api.example.com', 'https://evil.example#api.example.com', 'https://evil.example?api.example.com', 'https://api.example.com@evil.example/', 'https://api.example.com:x@evil.example/', 'https://evil.example\\@api.example.com/',
      'https://evilpartner.example/', 'https://partner.example/', 'https://partner.example.evil.example/', 'https://apiXexample.com/', 'https://api.example.com./',
    ]) expect(inputSchema.safeParse({ url }).success, url).toBe(false)
    for (const url of ['https://api.example.com/x', 'https://API.EXAMPLE.COM/', 'https://a.partner.example/']) expect(inputSchema.safeParse({ url }).success, url).toBe(true)
  })

  test('keeps its credentials: a call cannot name them, nor where they go', () => {
    const { inputSchema } = httpRequest({ method: 'POST', headers: () => ({ authorization: 'Bearer secret' }) })
    for (const headers of [{ authorization: 'x' }, { Cookie: 'x' }, { host: '169.254.169.254' }, { 'x-forwarded-for': '127.0.0.1' }, { 'metadata-flavor': 'Google' }, { 'x-aws-ec2-metadata-token': 'x' }, { 'transfer-encoding': 'chunked' }, { 'idempotency-key': 'x' }, { __proto__: 'x', 'accept\r\nx': 'y' }]) {
      expect(inputSchema.safeParse({ url: 'https://api.example.com/', headers }).success, JSON.stringify(headers)).toBe(false)
    }
  })
})
