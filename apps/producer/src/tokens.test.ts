import { describe, expect, test } from 'vitest'
import { readProducerEnv } from './env.ts'
import { sha256 } from './producer.testsuite.ts'
import { authenticate, parseTokens } from './tokens.ts'

describe('PAWL_TOKENS', () => {
  test('names, scopes and namespace are read', () => {
    const [ci, ops] = parseTokens(`ci:read+run:${sha256('a')}, ops:operate:${sha256('b')}:red`)
    expect([ci?.name, ci?.namespace, [...(ci?.scopes ?? [])]]).toEqual(['ci', 'default', ['read', 'run']])
    expect([ops?.name, ops?.namespace]).toEqual(['ops', 'red'])
  })

  test.each(['ci', 'ci:read', `ci:fly:${sha256('a')}`, `ci:read+fly:${sha256('a')}`, 'ci:read:abc', `ci:read:${sha256('a')}:A B`])('%s is refused by its place, without its text', (text) => {
    expect(() => parseTokens(`ok:read:${sha256('x')},${text}`)).toThrow(/entry 2/)
    expect(() => parseTokens(text)).not.toThrow(new RegExp(sha256('a')))
  })

  test('only the token itself opens, not its hash, a prefix or nothing', () => {
    const tokens = parseTokens(`ci:read:${sha256('secret')}`)
    expect(authenticate(tokens, 'Bearer secret').name).toBe('ci')
    for (const header of [undefined, '', 'Bearer', 'Bearer ', 'secret', 'Basic secret', `Bearer ${sha256('secret')}`, 'Bearer secre', 'Bearer secret secret']) {
      expect(() => authenticate(tokens, header)).toThrow(/needs a known token/)
    }
  })

  test('the hash of nothing opens nothing without a header', () => {
    expect(() => authenticate(parseTokens(`x:read:${sha256('')}`), undefined)).toThrow(/needs a known token/)
  })
})

describe('the environment', () => {
  test.each(['false', '0', 'no', 'off', 'FALSE'])('PAWL_MIGRATE=%s is false', (text) => expect(readProducerEnv({ PAWL_MIGRATE: text }).PAWL_MIGRATE).toBe(false))
  test.each(['true', '1', 'yes', 'on', 'TRUE'])('PAWL_MIGRATE=%s is true', (text) => expect(readProducerEnv({ PAWL_MIGRATE: text }).PAWL_MIGRATE).toBe(true))
  test('PAWL_MIGRATE=banana stops the start', () => expect(() => readProducerEnv({ PAWL_MIGRATE: 'banana' })).toThrow(/PAWL_MIGRATE must be true/))
  test('a wrong address is named without its value', () => {
    expect(() => readProducerEnv({ DATABASE_URL: 'mysql://me:s3cret@x' })).toThrow(/^DATABASE_URL must begin with postgres:\/\/\. /)
  })
  test('listening to others without tokens is refused', () => {
    for (const host of ['0.0.0.0', '::', '10.0.0.1']) expect(() => readProducerEnv({ PAWL_HOST: host })).toThrow(/PAWL_TOKENS/)
    expect(readProducerEnv({ PAWL_HOST: '0.0.0.0', PAWL_TOKENS: `a:read:${sha256('x')}` }).PAWL_HOST).toBe('0.0.0.0')
  })
})
