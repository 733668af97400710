import { describe, expect, test } from 'vitest'
import { hashPassword, checkPassword } from './auth/password.ts'
import { readDashboardEnv } from './env.ts'

const hash = await hashPassword('correct horse battery')
const secret = 'x'.repeat(32)
const read = (env: NodeJS.ProcessEnv) => () => readDashboardEnv({ DATABASE_URL: 'postgres://u:p@h/d', ...env })

describe('the dashboard’s environment', () => {
  test('needs nothing but the database on a laptop', () => {
    expect(read({})()).toMatchObject({ PAWL_HOST: '127.0.0.1', PAWL_PORT: 3001, PAWL_PRODUCER_URL: 'http://127.0.0.1:3000', PAWL_DASHBOARD_USERS: [] })
  })

  test.for([
    ['a port that is none', { PAWL_PORT: '70000' }, 'BAD_ENVIRONMENT', 'PAWL_PORT'],
    ['a producer without http', { PAWL_PRODUCER_URL: 'localhost:3000' }, 'BAD_ENVIRONMENT', 'PAWL_PRODUCER_URL'],
    ['a short secret', { PAWL_SESSION_SECRET: 'swordfish' }, 'BAD_ENVIRONMENT', 'PAWL_SESSION_SECRET'],
    ['a user without a hash', { PAWL_DASHBOARD_USERS: 'olga:operate:swordfish', PAWL_SESSION_SECRET: secret }, 'BAD_USERS', 'entry 1'],
    ['a role nobody knows', { PAWL_DASHBOARD_USERS: `olga:operate:${hash},rita:swordfish:${hash}`, PAWL_SESSION_SECRET: secret }, 'BAD_USERS', 'entry 2'],
    ['one name twice', { PAWL_DASHBOARD_USERS: `olga:operate:${hash},olga:read:${hash}`, PAWL_SESSION_SECRET: secret }, 'BAD_USERS', 'olga twice'],
    ['users without a secret', { PAWL_DASHBOARD_USERS: `olga:operate:${hash}` }, 'SECRET_NEEDED', 'PAWL_SESSION_SECRET'],
    ['the network without users', { PAWL_HOST: '0.0.0.0' }, 'USERS_NEEDED', 'PAWL_DASHBOARD_USERS'],
  ] as const)('refuses %s, names it and does not repeat it', ([, env, code, named]) => {
    expect(read(env)).toThrow(expect.objectContaining({ code, message: expect.stringContaining(named) as string }))
    expect(read(env)).not.toThrow(/swordfish/)
  })
})

test('a password is known by its hash alone, and no other is', async () => {
  expect(hash).not.toContain('$')
  expect(await checkPassword('correct horse battery', hash)).toBe(true)
  expect(await checkPassword('correct horse batterY', hash)).toBe(false)
  expect(await checkPassword('correct horse battery', undefined)).toBe(false)
  expect(await hashPassword('correct horse battery')).not.toBe(hash)
})
