import { NotApplied } from '@pawl/core'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rejection, testContext } from '../fixtures/context.testsuite.ts'
import { json, startReceiver, type Receiver } from '../fixtures/receiver.testsuite.ts'
import { NotSent } from '../not-sent.ts'
import { isPublicAddress } from './address-policy.ts'
import { httpRequest, type HttpRequestOptions } from './http-request.ts'

let receiver: Receiver
beforeEach(async () => {
  receiver = await startReceiver()
})
afterEach(() => receiver.close())

const tool = (options: Partial<HttpRequestOptions> = {}) => httpRequest({ method: 'POST', allowPrivate: [receiver.host], ...options })
const send = (options: Partial<HttpRequestOptions> = {}, context = testContext()) => tool(options).execute({ url: receiver.url, body: { a: 1 } }, context)

describe('effect class', () => {
  it('follows the method and what the operator says of the receiver', () => {
    expect(tool({ method: 'GET' }).effect).toBe('read')
    expect(tool({ method: 'PUT' }).effect).toBe('non-idempotent')
    expect(tool({ honoursKey: true, concurrent: true, keyWindow: '24h' })).toMatchObject({ effect: 'idempotent', concurrent: true, keyWindowMs: 86_400_000, name: 'http.post' })
    expect(() => tool({ concurrent: true })).toThrow(/idempotent/)
    expect(() => tool({ method: 'GET', honoursKey: true })).toThrow(/honoursKey/)
  })
})

describe('what is sent', () => {
  it('carries the key, configured secrets and the JSON body', async () => {
    const result = await send({ headers: () => ({ authorization: 'Bearer secret' }) })
    expect(result).toEqual({ status: 200, headers: { 'content-type': 'application/json' }, body: { ok: true }, bodyTruncated: false })
    expect(receiver.receipts[0]).toMatchObject({
      method: 'POST',
      body: '{"a":1}',
      headers: { 'idempotency-key': 'pawl-test-key', authorization: 'Bearer secret', 'content-type': 'application/json' },
    })
  })

  it('nothing, as NotSent, when the guard is closed; as NotApplied when the secrets cannot be had', async () => {
    const context = testContext()
    context.closeGuard()
    expect(await rejection(send({}, context))).toBeInstanceOf(NotSent)
    expect(await rejection(send({ headers: () => Promise.reject(new Error('vault is sealed')) }))).toBeInstanceOf(NotApplied)
    expect(receiver.receipts).toHaveLength(0)
  })

  it('a call cannot set credentials, nor leave the allowed hosts', () => {
    const { inputSchema } = tool({ allowHosts: ['127.0.0.1', '*.example.com'] })
    expect(inputSchema.safeParse({ url: receiver.url, headers: { Authorization: 'x' } }).error?.message).toMatch(/headers option/)
    expect(inputSchema.safeParse({ url: 'https://user:pw@api.example.com' }).success).toBe(false)
    expect(inputSchema.safeParse({ url: 'https://example.com.evil.net' }).error?.message).toMatch(/allowHosts/)
    expect(inputSchema.safeParse({ url: 'ftp://api.example.com' }).success).toBe(false)
    expect(inputSchema.safeParse({ url: 'https://api.example.com/x', headers: { 'If-Match': '"1"' } }).success).toBe(true)
  })
})

describe('answers that prove the request was not carried out', () => {
  for (const status of [400, 401, 403, 405, 413, 415, 422]) {
    it(`${status}`, async () => {
      receiver.answer = (_receipt, response) => json(response, status, {})
      expect(await rejection(send())).toBeInstanceOf(NotApplied)
    })
  }

  it('429 with Retry-After, as rate limited', async () => {
    receiver.answer = (_receipt, response) => json(response, 429, {}, { 'retry-after': '2' })
    expect(await rejection(send())).toMatchObject({ name: 'NotApplied', rateLimited: true, retryAfterMs: 2_000 })
  })

  it('a refused connection', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    const call = httpRequest({ method: 'POST', allowPrivate: [`127.0.0.1:${port}`] }).execute({ url: `http://127.0.0.1:${port}` }, testContext())
    expect(await rejection(call)).toMatchObject({ name: 'NotApplied', message: expect.stringContaining('ECONNREFUSED') as string })
  })
})

describe('answers that prove nothing leave the call unsettled', () => {
  for (const status of [302, 404, 408, 409, 410, 412, 423, 425, 429, 500, 502, 503]) {
    it(`${status}`, async () => {
      receiver.answer = (_receipt, response) => json(response, status, {})
      expect(await rejection(send())).not.toBeInstanceOf(NotApplied)
      expect(receiver.receipts).toHaveLength(1)
    })
  }

  it('200 with an empty body, 200 with truncated JSON, 200 that breaks off', async () => {
    receiver.answer = (_receipt, response) => void response.writeHead(200).end()
    expect(await rejection(send())).not.toBeInstanceOf(NotApplied)
    receiver.answer = (_receipt, response) => void response.writeHead(200).end('{"id": "4')
    expect(await rejection(send())).not.toBeInstanceOf(NotApplied)
    receiver.answer = (_receipt, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"id":')
      setImmediate(() => response.socket?.destroy())
    }
    expect(await rejection(send())).not.toBeInstanceOf(NotApplied)
  })

  it('a reset after the request arrived', async () => {
    receiver.answer = (_receipt, response) => void response.socket?.resetAndDestroy()
    expect(await rejection(send())).not.toBeInstanceOf(NotApplied)
    expect(receiver.receipts).toHaveLength(1)
  })
})

describe('answers that are results', () => {
  it('204 has no body; 404 where the operator says it means done; text where it is promised', async () => {
    receiver.answer = (_receipt, response) => void response.writeHead(204).end()
    expect(await send()).toMatchObject({ status: 204, body: null })
    receiver.answer = (_receipt, response) => void response.writeHead(404).end('gone')
    expect(await send({ method: 'DELETE', alsoOk: [404], response: 'text' })).toMatchObject({ status: 404, body: 'gone' })
  })

  it('a JSON body with a number that a double would change is given as its text, every digit in it (case 63)', async () => {
    const body = '{"id":9007199254740993,"cents":[5810142810638157171]}'
    receiver.answer = (_receipt, response) => void response.writeHead(200).end(body)
    expect(await send()).toMatchObject({ status: 200, body })
    receiver.answer = (_receipt, response) => void response.writeHead(200).end('{"id":"9007199254740993","n":1.5}')
    expect(await send()).toMatchObject({ body: { id: '9007199254740993', n: 1.5 } })
  })

  it('an oversized body is cut off, the call stays answered', async () => {
    receiver.answer = (_receipt, response) => void response.writeHead(200).end('x'.repeat(50_000))
    expect(await send({ maxResponseBytes: 1_000, response: 'text' })).toMatchObject({ status: 200, body: null, bodyTruncated: true })
  })
})

describe('addresses inside the network are refused before anything connects', () => {
  it('names that resolve inside, also without being on any list of names', async () => {
    const port = receiver.host.split(':')[1]
    const error = await rejection(httpRequest({ method: 'POST' }).execute({ url: `http://localhost:${port}` }, testContext()))
    expect(error).toMatchObject({ name: 'NotApplied', message: expect.stringContaining('not a public address') as string })
    expect(receiver.connections()).toBe(0)
  })

  it('literals in every spelling, at the schema and again when connecting', async () => {
    const port = receiver.host.split(':')[1]
    const strict = httpRequest({ method: 'POST' })
    for (const host of ['127.0.0.1', '127.1', '0x7f.0.0.1', '2130706433', '0177.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0']) {
      const url = `http://${host}:${port}/`
      expect(strict.inputSchema.safeParse({ url }).success, host).toBe(false)
      expect(await rejection(strict.execute({ url }, testContext())), host).toBeInstanceOf(NotApplied)
    }
    expect(receiver.connections()).toBe(0)
  })

  it('private, link-local, metadata, translated and special ranges are not public; ordinary addresses are', () => {
    for (const address of ['10.0.0.1', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.100.100.200', '168.63.129.16', '192.0.0.192', '224.0.0.1', '255.255.255.255',
      'fe80::1', 'fd00:ec2::254', '::', '64:ff9b::7f00:1', '2002:7f00:1::', '::ffff:10.0.0.1', 'nonsense']) {
      expect(isPublicAddress(address), address).toBe(false)
    }
    for (const address of ['93.184.216.34', '8.8.8.8', '2606:4700::1111']) expect(isPublicAddress(address), address).toBe(true)
  })

  it('allowPrivate opens one host and port, no other', async () => {
    const other = await startReceiver()
    expect(await rejection(tool().execute({ url: other.url }, testContext()))).toBeInstanceOf(NotApplied)
    expect(other.connections()).toBe(0)
    await other.close()
  })
})
