import { PawlError } from '@pawl/core'
import { expect, test } from 'vitest'
import { readWorkerEnv } from './env.ts'

function refusal(env: NodeJS.ProcessEnv): PawlError {
  try {
    readWorkerEnv(env)
  } catch (error) {
    if (error instanceof PawlError) return error
  }
  throw new Error('it was not refused')
}

test('failpoints name where, what and at which arrival, with hyphens or underscores', () => {
  expect(readWorkerEnv({ PAWL_FAILPOINTS: 'after_intent:kill@2, before-send[tool=mail.send][item=3]:stop(1500),before_claim[run=x]:loseAck,after_turn[item=2][turn=4]:kill' }).PAWL_FAILPOINTS).toEqual([
    { at: 'after-intent', action: 'kill', ms: 0, nth: 2, run: undefined, item: undefined, tool: undefined },
    { at: 'before-send', action: 'stop', ms: 1_500, nth: 1, run: undefined, item: 3, tool: 'mail.send' },
    { at: 'before-claim', action: 'loseAck', ms: 0, nth: 1, run: 'x', item: undefined, tool: undefined },
    { at: 'after-turn', action: 'kill', ms: 0, nth: 1, item: 2, turn: 4 },
  ])
  expect(readWorkerEnv({ PAWL_FAILPOINTS: '' }).PAWL_FAILPOINTS).toBeUndefined()
})

test('a failpoint nobody passes, an unknown action or a missing time is refused, not ignored', () => {
  for (const wrong of ['after_lunch:kill', 'after_intent:explode', 'after_intent', 'after_intent:delay', 'after_intent:kill(5)', 'after_intent[colour=red]:kill', 'after_intent:kill@0']) {
    const { code, message } = refusal({ PAWL_FAILPOINTS: wrong })
    expect([wrong, code, message.includes('PAWL_FAILPOINTS')]).toEqual([wrong, 'BAD_ENVIRONMENT', true])
  }
})

test('failpoints in production are refused by name', () => {
  const { code, message } = refusal({ PAWL_FAILPOINTS: 'after_intent:kill', NODE_ENV: 'production' })
  expect(code).toBe('FAILPOINTS_IN_PRODUCTION')
  expect(message).toContain('PAWL_FAILPOINTS')
  expect(readWorkerEnv({ NODE_ENV: 'production' }).PAWL_FAILPOINTS).toBeUndefined()
})
