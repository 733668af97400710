import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
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

/** Each holds the one before it twice: a few objects, and as a tree two to their number. */
function doubled(levels: number, end: unknown, join: (inner: unknown) => unknown): unknown {
  let value = end
  for (let level = 0; level < levels; level++) value = join(value)
  return value
}
const joins: [string, (inner: unknown) => unknown][] = [
  ['lists', (inner) => [inner, inner]], ['objects', (inner) => ({ a: inner, b: inner })], ['maps', (inner) => new Map([['a', inner], ['b', inner]])], ['sets', (inner) => new Set([[inner], [inner]])],
  ['keys of maps', (inner) => new Map([[[inner, inner], 1]])],
]
const now = <T>(act: () => T): T => {
  const begun = performance.now()
  try {
    return act()
  } finally {
    expect(performance.now() - begun).toBeLessThan(1_000)
  }
}

describe('a value that holds one thing in many places', () => {
  test.each(joins)('is refused at once where written out it would be too large: %s', (_, join) => {
    // What takes seconds, and not for ever, where nothing counts.
    expect(() => now(() => digest(doubled(22, 'x', join)))).toThrow('the limit is 10000000')
    for (const levels of [40, 240]) {
      for (const end of ['x', new Date(0)]) {
        const vast = doubled(levels, end, join)
        for (const act of [() => encode(vast, { what: 'value', maxBytes: 1_000 }), () => encode(vast, { what: 'value' }), () => digest({ vast })]) expect(() => now(act)).toThrow(/^value takes \d+ bytes.*the limit is \d+\. Store it elsewhere/)
      }
    }
  })

  test('comes back as it was while it fits: one thing, in its places, under the digest of its copies', () => {
    const row = { at: new Date(0), words: 'w'.repeat(1_000) }
    const rows = Array.from({ length: 1_000 }, () => row)
    const kept = encode(rows, { what: 'value', maxBytes: 1_200_000 })
    expect(kept.length).toBeLessThan(4_000)
    const read = decode(kept) as typeof rows
    expect(read).toStrictEqual(rows)
    expect(new Set(read).size).toBe(1)
    expect(digest({ a: row, b: { at: row.at, words: row.words } })).toBe(digest({ a: row, b: row }))
    expect(encode({ a: [1], b: doubled(3, 1, (inner) => [inner, inner]) }, { what: 'value' })).toBe('{"a":[1],"b":[[[1,1],[1,1]],[[1,1],[1,1]]]}')
  })

  test('nests as deep as it does from where it is deepest', () => {
    const tail = doubled(300, 1, (inner) => [inner])
    expect(() => encode([tail, doubled(190, tail, (inner) => [inner])], { what: 'value' })).not.toThrow()
    expect(() => encode([tail, doubled(210, tail, (inner) => [inner])], { what: 'value' })).toThrow('nesting deeper than 500')
    const inItself: unknown[] = []
    inItself.push([inItself])
    for (const act of [() => encode(inItself, { what: 'value' }), () => digest(inItself)]) expect(act).toThrow('value[0][0] is a value that contains itself')
  })
})

test('a long text in many places is refused unwritten, and a list of four billion holes before they are looked at', () => {
  const text = 'x'.repeat(100_000)
  expect(() => now(() => encode(Array.from({ length: 100_000 }, () => text), { what: 'value', maxBytes: 1_000_000 }))).toThrow('bytes or more; the limit is 1000000')
  for (const act of [() => encode(Array(4_000_000_000), { what: 'value', maxBytes: 1_000_000 }), () => digest([Array(4_000_000_000)])]) expect(() => now(act)).toThrow('value takes 8000000000 bytes; the limit is')
})

/** Three bytes of a pool, as small buffers of Node are. */
function viewInto(around: string): Uint8Array {
  const pool = new TextEncoder().encode(`${around}abc${around}`)
  return pool.subarray(around.length, around.length + 3)
}
