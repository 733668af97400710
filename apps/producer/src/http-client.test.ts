import { createClient } from '@pawl/client'
import { afterAll } from 'vitest'
import { describeClient } from '../../../packages/client/src/client.testsuite.ts'
import { openProducer, sha256, type TestProducer } from './producer.testsuite.ts'

let producer: TestProducer | undefined
afterAll(async () => producer?.close())

describeClient('the client over HTTP', async () => {
  producer = await openProducer({ PAWL_TOKENS: `ann:read+run+operate:${sha256('secret')}` })
  return { client: createClient({ url: producer.url, token: 'secret' }), ledger: producer.ledger, actor: 'ann' }
})
