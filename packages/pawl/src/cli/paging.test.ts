import { expect, test } from 'vitest'
import { allOf } from './paging.ts'

/** Numbers, three a page at most, whatever was asked for. */
const list = async ({ limit, cursor = '0' }: { limit: number; cursor: string | undefined }): Promise<{ entries: number[]; cursor: string | null }> => {
  const first = Number(cursor)
  const entries = Array.from({ length: Math.min(limit, 3, 10 - first) }, (_, i) => first + i)
  const next = first + entries.length
  return { entries, cursor: next < 10 ? String(next) : null }
}

async function gather<T>(all: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const each of all) found.push(each)
  return found
}

test('a pipe gets every page, or as many as it asked for, also where pages hold fewer than their limit', async () => {
  expect(await gather(allOf({}, list))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect(await gather(allOf({ limit: 5 }, list))).toEqual([0, 1, 2, 3, 4])
  expect(await gather(allOf({ limit: 50, cursor: '7' }, list))).toEqual([7, 8, 9])
})
