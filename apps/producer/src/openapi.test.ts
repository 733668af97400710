/** The API's description is right: OpenAPI 3.1 by its own rules, and whole. */
import { Validator } from '@seriousme/openapi-schema-validator'
import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApp } from './app.ts'
import { makeMetrics } from './metrics.ts'
import { operationsOf, readDocument, type ApiDocument } from './openapi.testsuite.ts'
import { openProducer, type TestProducer } from './producer.testsuite.ts'

let producer: TestProducer
let text: string
let document: ApiDocument
beforeAll(async () => {
  producer = await openProducer()
  text = await (await fetch(`${producer.url}/openapi.json`)).text()
  document = readDocument(text)
})
afterAll(async () => producer.close())

test('the document is OpenAPI 3.1 by its schema', async () => {
  const validator = new Validator()
  const { valid, errors } = await validator.validate(JSON.parse(text) as Record<string, unknown>)
  expect(errors).toBeUndefined()
  expect([valid, validator.version]).toEqual([true, '3.1'])
  const broken = JSON.parse(text.replace('"responses"', '"answers"')) as Record<string, unknown>
  expect((await new Validator().validate(broken)).valid).toBe(false)
})

test('every route of the app is in the document, and nothing else is; each operation has a name of its own and says what it is', async () => {
  const app = createApp({
    ledger: producer.ledger, agents: [], tokens: [], log: pino({ level: 'silent' }), dispatch: async () => undefined, onDispatchError: () => undefined, queues: async () => [], onBulk: () => undefined,
    streamAliveMs: undefined, metrics: makeMetrics(async () => undefined), figures: async () => undefined, closing: new AbortController().signal,
  })
  // The page's own files are no API.
  const routes = app.routes.filter(({ method, path }) => method !== 'ALL' && !path.startsWith('/docs/')).map(({ method, path }) => `${method} ${path}`)
  const documented = operationsOf(document)
  expect(new Set(documented.map(({ method, path }) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`))).toEqual(new Set(routes))
  expect(routes.length).toBeGreaterThan(30)
  expect(new Set(documented.map(({ operationId }) => operationId)).size).toBe(documented.length)
})
