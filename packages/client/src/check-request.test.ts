/** What a request asks for, beside what the agent says itself. */
import { expect, test } from 'vitest'
import type { AnyAgentContract } from './agents.ts'
import { mergePolicy } from './check-request.ts'

const contract = { policy: { onFailure: 'compensate', maxFailures: 2, maxConcurrency: 3, approval: { expiresMs: 1_000 } } } as AnyAgentContract
const agent = { name: 'stock', version: '1', contract } as Parameters<typeof mergePolicy>[0]

test('a member that is not given, or given as undefined, is the agent’s own: a command whose flags were left out changes nothing', () => {
  expect(mergePolicy(agent)).toEqual(contract.policy)
  expect(mergePolicy(agent, { onFailure: undefined, maxFailures: undefined, maxConcurrency: undefined, approval: undefined })).toEqual(contract.policy)
  expect(mergePolicy(agent, { maxConcurrency: 1, approval: { expiresMs: undefined, notByRequester: true } })).toEqual({ ...contract.policy, maxConcurrency: 1, approval: { expiresMs: 1_000, notByRequester: true } })
})
