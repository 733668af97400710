import { Client } from 'pg'
import { connect } from 'node:net'
import { once } from 'node:events'
import { expect, inject, test } from 'vitest'
import { describeRedis, freshDatabase } from './fixtures.ts'
import { startRedis } from './redis-server.ts'

test('two fresh databases do not see each other, and a drop ends even open sessions', async () => {
  const [one, two] = await Promise.all([freshDatabase(), freshDatabase()])
  const client = new Client({ connectionString: one.url })
  client.on('error', () => undefined)
  await client.connect()
  await client.query('create table only_here (n int)')
  const other = new Client({ connectionString: two.url })
  await other.connect()
  await expect(other.query('select * from only_here')).rejects.toThrow(/does not exist/)
  await other.end()
  const ended = new Promise((resolve) => client.once('end', resolve))
  await one.drop()
  await ended
  await two.drop()
})

describeRedis('the shared Redis', (redisUrl) => {
  test('answers, and a Redis of one’s own is another', async () => {
    expect(redisUrl).toBe(inject('redisUrl'))
    expect(await ping(Number(new URL(redisUrl).port || 6_379), new URL(redisUrl).hostname)).toMatch(/^\+PONG|^-NOAUTH/)
    const own = await startRedis()
    expect(own.url).not.toBe(redisUrl)
    expect(await ping(own.port, '127.0.0.1')).toBe('+PONG\r\n')
    await own.stop('KILL')
    await expect(ping(own.port, '127.0.0.1')).rejects.toThrow(/ECONNREFUSED/)
  })
})

async function ping(port: number, host: string): Promise<string> {
  const socket = connect(port, host)
  await once(socket, 'connect')
  socket.write('PING\r\n')
  const [reply] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return reply.toString()
}
