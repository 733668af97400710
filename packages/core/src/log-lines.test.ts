import { expect, test } from 'vitest'
import { withoutSecrets } from './log-lines.ts'

test('passwords in addresses and bearer tokens are blanked; a line stays the JSON it was', () => {
  const line = JSON.stringify({
    msg: 'cannot reach postgres://pawl:hunter2@db:5432/pawl with Bearer abc.def-123456', url: 'http://127.0.0.1:3000', mail: 'ada@example.org', redis: 'rediss://:s3cret@cache:6379',
  })
  expect(JSON.parse(withoutSecrets(line))).toEqual({
    msg: 'cannot reach postgres://pawl:***@db:5432/pawl with Bearer ***', url: 'http://127.0.0.1:3000', mail: 'ada@example.org', redis: 'rediss://:***@cache:6379',
  })
})
