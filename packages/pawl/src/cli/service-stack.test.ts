import { expect, test } from 'vitest'
import { ServiceStack } from './service-stack.ts'

test('services stop in the reverse order, also after one that fails to, and each only once', async () => {
  const stack = new ServiceStack()
  const stopped: string[] = []
  for (const name of ['first', 'second', 'third']) {
    await stack.add(name, async () => name, async (each) => {
      stopped.push(each)
      if (each === 'second') throw new Error('will not stop')
    })
  }
  const failures = await stack.stop()
  expect(stopped).toEqual(['third', 'second', 'first'])
  expect(failures.map((failure) => failure.message)).toEqual(['will not stop'])
  expect(await stack.stop()).toEqual([])
})

test('a service that did not start is not stopped', async () => {
  const stack = new ServiceStack()
  const stopped: string[] = []
  await expect(stack.add('broken', async () => { throw new Error('no port') }, async () => { stopped.push('broken') })).rejects.toThrow('no port')
  await stack.stop()
  expect(stopped).toEqual([])
})
