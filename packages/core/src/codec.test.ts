import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonical, decode, digest, encode } from './codec.ts'

const text = fc.oneof(fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)), maxLength: 12 }), fc.constantFrom('123', 'true', 'null', '1e3', '', '\u0000', '\ud800', '~', '~[1]', '__proto'))
const leaf = fc.oneof(text, fc.integer(), fc.double(), fc.constantFrom(null, undefined, true, false, -0), fc.bigInt(), fc.date(), fc.uint8Array({ maxLength: 20 }), fc.float64Array({ maxLength: 4 }))
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaf, fc.array(tie('value'), { maxLength: 4 }), fc.dictionary(text.filter((key) => key !== '__proto__'), tie('value'), { maxKeys: 4, noNullPrototype: true }),
    fc.array(fc.tuple(text, tie('value')), { maxLength: 3 }).map((entries) => new Map(entries)), fc.array(tie('value'), { maxLength: 3 }).map((members) => new Set(members))),
}))

test('any value comes back in its type and its bytes, in text that Postgres stores, under the same digest (cases 61-64)', () => {
  fc.assert(fc.property(value, (given) => {
    const kept = encode(given, { what: 'value' })
    expect(kept.includes('\u0000') || /\p{Surrogate}/u.test(kept)).toBe(false)
    expect(decode(kept)).toStrictEqual(given)
    expect(digest(decode(kept))).toBe(digest(given))
  }), { numRuns: 500 })
})

test('ten megabytes of bytes come back as they were (case 62)', () => {
  const bytes = new Uint8Array(10_000_000).map((_, i) => i % 256)
  expect(Buffer.compare(decode(encode(bytes, { what: 'value' })) as Uint8Array, bytes)).toBe(0)
})

test('of a view into a larger buffer only what it shows is kept: what lies beside it is somebody else\'s, and is another each time', () => {
  const shown = viewInto('secret')
  const kept = encode({ list: [shown], map: new Map([['a', new DataView(shown.buffer, shown.byteOffset, 3)]]) }, { what: 'value' })
  expect(kept).not.toContain(Buffer.from('secret').toString('base64').slice(0, 6))
  expect(decode(encode(shown, { what: 'value' }))).toStrictEqual(new TextEncoder().encode('abc'))
  expect(digest({ bytes: viewInto('others') })).toBe(digest({ bytes: new TextEncoder().encode('abc') }))
  expect(decode(encode(new Float64Array([0, 1.5, 2]).subarray(1), { what: 'value' }))).toStrictEqual(new Float64Array([1.5, 2]))
})

test.each<[string, unknown, string]>([
  ['a function', { list: [1, { f: () => 1 }] }, 'value.list[1].f is a function'], ['a promise', { p: Promise.resolve() }, 'value.p is an instance of Promise'], ['an error', [new Error('x')], 'value[0] is an instance of Error'],
  ['a symbol', { s: Symbol('s') }, 'value.s is a symbol'], ['a key __proto__', JSON.parse('{"a":{"__proto__":1}}') as unknown, 'value.a is an object with a "__proto__" key'],
])('%s is refused by its path (case 64)', (_, given, says) => {
  expect(() => encode(given, { what: 'value' })).toThrow(says)
})

test('the order of members is none of a value\'s; the size a limit counts is in bytes', () => {
  expect(canonical({ b: 1n, a: { d: 1, c: 2 } })).toBe(canonical({ a: { c: 2, d: 1 }, b: 1n }))
  expect(() => encode('ééé', { what: 'value', maxBytes: 7 })).toThrow('value takes 8 bytes; the limit is 7')
})

/** Three bytes of a pool, as small buffers of Node are. */
function viewInto(around: string): Uint8Array {
  const pool = new TextEncoder().encode(`${around}abc${around}`)
  return pool.subarray(around.length, around.length + 3)
}
