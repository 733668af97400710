import { expect, test } from 'vitest'
import { SlotHolder } from './slot-holder.ts'
import { Slots } from './slots.ts'

const later = (): { promise: Promise<void>; done: () => void } => {
  let done: () => void = () => {}
  const promise = new Promise<void>((resolve) => { done = resolve })
  return { promise, done }
}
/** Lets everything that is ready happen. */
const settle = (): Promise<void> => new Promise((resolve) => { setImmediate(resolve) })
/** How many of `size` slots are free. */
async function freeOf(slots: Slots, size: number): Promise<number> {
  const taken: (() => void)[] = []
  let isOver = false
  for (let i = 0; i < size; i++) void slots.take().then((release) => (isOver ? release() : taken.push(release)))
  await settle()
  isOver = true
  for (const release of taken) release()
  return taken.length
}

test('a slot is given back while a call waits, and held again afterwards', async () => {
  const slots = new Slots(1)
  const holder = new SlotHolder(await slots.take(), () => slots.take())
  const wait = later()
  const over = holder.without(wait.promise, () => false)
  await settle()
  expect(await freeOf(slots, 1)).toBe(1)
  wait.done()
  await over
  expect(await freeOf(slots, 1)).toBe(0)
  holder.end()
  expect(await freeOf(slots, 1)).toBe(1)
})

test('calls of one attempt that wait beside each other never leak a slot, in whatever order they end', async () => {
  const slots = new Slots(2)
  const holder = new SlotHolder(await slots.take(), () => slots.take())
  const [a, b] = [later(), later()]
  const both = [holder.without(a.promise, () => false), holder.without(b.promise, () => false)]
  a.done()
  await settle()
  b.done()
  await Promise.all(both)
  const c = later()
  const third = holder.without(c.promise, () => false)
  c.done()
  await third
  holder.end()
  await settle()
  expect(await freeOf(slots, 2)).toBe(2)
})

test('an attempt that ended while it stood in line for a slot gives it back when it comes', async () => {
  const slots = new Slots(1)
  const holder = new SlotHolder(await slots.take(), () => slots.take())
  const wait = later()
  const over = holder.without(wait.promise, () => false)
  await settle()
  const other = await slots.take()
  wait.done()
  await settle()
  holder.end()
  other()
  await over
  expect(await freeOf(slots, 1)).toBe(1)
})

test('one that must be alone waits for everybody else, and everybody else for it', async () => {
  const slots = new Slots(3)
  const first = await slots.take()
  const order: string[] = []
  const alone = slots.takeAlone(60_000).then((release) => { order.push('alone'); return release })
  const after = slots.take().then((release) => { order.push('after'); return release })
  await settle()
  expect(order).toEqual([])
  first()
  await settle()
  expect(order).toEqual(['alone'])
  const release = await alone
  release()
  await after
  expect(order).toEqual(['alone', 'after'])
})
