import { expect, test } from 'vitest'
import { portrait } from './portrait.ts'

const loop = (): object => { const made: { self?: object } = {}; made.self = made; return made }
const shared = (): object => { const part = {}; return [part, part] }
class A { x = 1 }
class B { x = 1; method(): number { return this.x } }

test.each([
  ['0 and -0', 0, -0], ['a number and its text', 1, '1'], ['null and undefined', null, undefined], ['a hole and undefined', Array(1), [undefined]],
  ['a buffer and its bytes', Buffer.from('a'), new Uint8Array([97])], ['a boxed and a bare string', Object('a'), 'a'], ['the classes of two objects', new A(), new B()],
  ['the order of keys', { a: 1, b: 2 }, { b: 2, a: 1 }], ['a frozen object', { a: 1 }, Object.freeze({ a: 1 })], ['sharing', shared(), [{}, {}]], ['a cycle', loop(), { self: {} }],
  ['an own toString', Object.assign(() => 1, { toString: () => 'x' }), () => 1], ['messages', new Error('a'), new Error('b')], ['error classes', new TypeError('a'), new RangeError('a')],
  ['bytes', Buffer.from('ab'), Buffer.from('ac')], ['maps', new Map([[1, 2]]), new Map([[1, 3]])], ['arguments and an array', (function (..._given: number[]) { return arguments })(1), [1]],
  ['an own hidden property', Object.defineProperty({}, 'h', { value: 1 }), {}], ['symbols', Symbol('a'), Symbol('b')], ['arity', (a: unknown) => a, () => 1], ['no prototype', Object.create(null), {}],
  ['built-ins', Map, Set], ['lastIndex', Object.assign(/a/g, { lastIndex: 1 }), /a/g],
])('a portrait tells %s apart', (_, left, right) => {
  expect(portrait(left)).not.toBe(portrait(right))
})

test.each([
  ['cycles', loop], ['dates', () => new Date(5)], ['functions', () => function f() { return 1 }], ['typed arrays', () => new Float64Array([0.5])], ['buffers', () => Buffer.from('é')],
  ['errors', () => new Error('x')], ['sets', () => new Set([1, {}])], ['objects', () => new B()],
])('two alike %s have the same portrait', (_, make) => {
  expect(portrait(make())).toBe(portrait(make()))
})
