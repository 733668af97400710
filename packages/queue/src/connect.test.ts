import { waitMs } from '@pawl/core'
import fc from 'fast-check'
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { addressOf } from './address.ts'
import { openBoardJob } from './board-job.ts'
import { connectQueue } from './connect.ts'
import { throttleErrors } from './failures.ts'
import { channelOf, nameQueues } from './names.ts'
import type { Channel } from './port.ts'

const connect = (more: { url?: string; backend?: 'redis' | 'postgres'; ledgerId?: string }) =>
  connectQueue({ backend: 'redis', url: 'redis://127.0.0.1:1', ledgerId: randomUUID(), onError: () => undefined, ...more })

describe('what is refused before anything is connected', () => {
  it('a Redis keyPrefix', () => {
    expect(() => connect({ url: 'redis://127.0.0.1:1?keyPrefix=mine:' })).toThrow(/keyPrefix.*Remove it/)
  })
  it('an address of another backend, without repeating its password', () => {
    expect(() => connect({ url: 'postgres://u:hunter2@h/db' })).toThrow(/is not a redis URL. Write it like redis:/)
    expect(() => connect({ backend: 'postgres', url: 'hunter2' })).toThrow(/^(?!.*hunter2).*not a postgres URL/)
  })
  it('a ledger id without 8 hex digits', () => {
    expect(() => connect({ ledgerId: 'mine' })).toThrow(/not a ledger id/)
  })
  it('an agent without a name, with a broken name, or with a name of a thousand characters', async () => {
    const queue = connect({})
    for (const agent of ['', '\uD800', 'x'.repeat(1_000)]) {
      const ring = { ledgerId: 'l', runId: 'r', seq: 1, generation: 1, channel: { kind: 'agent', agent, version: '1' }, first: false, title: '' } as const
      await expect(queue.ring([ring])).rejects.toMatchObject({ code: 'BAD_QUEUE_NAME' })
    }
    await queue.close()
  })
  it('a subscription for no handler at all', async () => {
    const queue = connect({})
    await expect(queue.subscribe({ kind: 'split' }, 0, () => Promise.resolve())).rejects.toMatchObject({ code: 'BAD_CONCURRENCY' })
    await queue.close()
  })
})

describe('queue names', () => {
  const names = nameQueues('0A1b2c3d-0000-7000-8000-000000000000')
  it('differ for different channels, can be read back, and hold nothing BullMQ refuses', () => {
    const part = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
    fc.assert(fc.property(part, part, part, part, (a, v, b, w) => {
      const [one, other]: Channel[] = [{ kind: 'agent', agent: a, version: v }, { kind: 'agent', agent: b, version: w }]
      const name = names.of(one as Channel)
      expect(name).toMatch(/^pawl-0a1b2c3d-[^:{}\s]+@[^:{}\s@]+$/)
      expect(channelOf(name, names)).toEqual(one)
      expect(name === names.of(other as Channel)).toBe(a === b && v === w)
    }))
  })
  it('of runs, of splits and of another ledger are never an agent\'s', () => {
    expect(channelOf(names.runs, names)).toBeUndefined()
    expect(channelOf(names.of({ kind: 'split' }), names)).toEqual({ kind: 'split' })
    expect(channelOf('pawl-ffffffff-a@1', names)).toBeUndefined()
  })
})

describe('addresses', () => {
  it('show host and port, and the folder of a socket, and no more', () => {
    expect(addressOf({ backend: 'redis', url: 'rediss://me:pw@cache.example:6380/2' })).toBe('cache.example:6380')
    expect(addressOf({ backend: 'postgres', url: 'postgres://me:pw@/db?host=/run/pg&password=x' })).toBe('/run/pg')
  })
})

describe('told errors', () => {
  it('are one per kind until 10 s have passed, and never carry what the driver hung on them', () => {
    const told: Error[] = []
    const tell = throttleErrors((error) => { told.push(error) })
    for (let i = 0; i < 1_000; i++) tell(Object.assign(new Error(`lost connection ${i}`), { command: { args: ['secret'] } }), 'a')
    tell(new Error('lost connection 1'), 'b')
    tell(Object.assign(new Error(''), { code: 'ECONNREFUSED' }), 'a')
    expect(told.map((error) => error.message)).toEqual(['lost connection 0', 'lost connection 1', 'ECONNREFUSED'])
    expect(Object.keys(told[0] ?? {})).not.toContain('command')
  })
})

describe('the board', () => {
  it('gets the newest progress only, one write at a time, and its failures reach nobody', async () => {
    const written: unknown[] = []
    let release = (): void => undefined
    const slow = new Promise<void>((resolve) => { release = resolve })
    const board = openBoardJob({
      async updateProgress(value) { written.push(value); await slow; if (value === 3) throw new Error('gone') },
      log: () => Promise.resolve(1),
    })
    for (const count of [1, 2, 3]) board.progress(count)
    expect(written).toEqual([1])
    release()
    await expect.poll(() => written).toEqual([1, 3])
    await waitMs(1)
    board.progress(4)
    await expect.poll(() => written).toEqual([1, 3, 4])
  })
})
