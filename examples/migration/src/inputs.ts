/**
 * The fixed set of calls that a migrated module and its original are put through. Each entry makes its arguments anew,
 * because lodash changes some of them. Callbacks write down what they were given, `this` included: they run in strict
 * mode, so an unboxed or lost `this` shows. Frozen values are here because sloppy code passes over a write to them in silence and an
 * ES module throws. No unbounded numbers, and no negative
 * third argument: several internals loop up or down to what they are given.
 */
export type Log = (name: string, self: unknown, given: readonly unknown[]) => void

export interface Call {
  readonly args: (log: Log) => unknown[]
}

export class Pet {
  name = 'Rex'
  tags = ['a', 'b']
  get loud(): string { return this.name.toUpperCase() }
  speak(word: unknown): string { return `${this.name} says ${String(word)}` }
}

function argumentsOf(...given: unknown[]): IArguments {
  return (function () { return arguments }).apply(undefined, given as [])
}
const sparse = (): unknown[] => { const made: unknown[] = []; made[1] = 1; made[3] = 2; return made }

const people = (): object[] => [
  { user: 'barney', age: 36, active: true, at: { city: 'Ürümqi', tags: ['x'] } },
  { user: 'fred', age: 40, active: false },
  { user: 'pebbles', age: 1, active: true },
]
const nested = (): object => ({ a: 1, b: { c: [1, { d: 2 }], e: null }, 'f.g': 3 })
const cyclic = (): object => { const made: Record<string, unknown> = { a: [1] }; made['self'] = made; return made }
const mixed = (): unknown[] => [0, -0, NaN, Infinity, '', null, undefined, false, 'a', NaN, [1], 1n]

/** One of each kind of value a module might look at. */
const values: readonly (() => unknown)[] = [
  () => undefined, () => null, () => true, () => 0, () => -0, () => NaN, () => 3, () => -2.5, () => 10n,
  () => '', () => 'fooBar baz-Qux_42', () => '  déjà vu Straße 👩‍👩‍👧 𝒳y  ', () => '<a href="x">&amp;\'`</a>', () => 'b.c[1].d', () => '0x1f',
  () => Symbol.for('s'), () => Symbol.iterator,
  () => [], () => [3, 1, 2, 1], () => mixed(), () => [[1, [2, [3, [4]]]], 5], () => people(), () => sparse(), () => [['a', 1], ['b', 2]],
  () => nested(), () => cyclic(), () => new Pet(), () => Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true } }) as unknown,
  () => Object.assign(Object.create(null), { a: 1 }) as unknown, () => ({ length: 2, 0: 'x', 1: 'y' }), () => ({ [Symbol.for('k')]: 1, toString: null }),
  () => Object.freeze({ a: 1, b: 2 }), () => Object.freeze([2, 1]), () => argumentsOf(1, 2, 3),
  () => new Map<unknown, unknown>([['a', { b: 1 }], [NaN, 2]]), () => new Set([1, 'a', NaN]), () => new WeakMap(), () => new WeakSet(),
  () => Buffer.from('héllo'), () => new Uint8Array([1, 2, 255]), () => new Float64Array([0.5, -0]), () => new BigInt64Array([1n]),
  () => new Uint8Array([1, 2, 3]).buffer, () => new DataView(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2),
  () => new Date(0), () => /a(b)?/gi, () => new Error('broken'), () => new TypeError('wrong'),
  () => Object(5) as unknown, () => Object('boxed') as unknown, () => Object(Symbol.for('s')) as unknown,
  () => function named(_a: unknown, _b: unknown) { return 1 },
  () => class extends Pet {}, () => ({ nodeType: 1, valueOf: () => 7 }), () => Promise.resolve.bind(Promise),
]

/** Callbacks; each writes down its `this` and arguments. */
const identityOf = (log: Log) => function identityOf(this: unknown, ...given: unknown[]) { log('identity', this, given); return given[0] }
const isBig = (log: Log) => function isBig(this: unknown, ...given: unknown[]) { log('isBig', this, given); return Number(given[0]) > 1 }
const sum = (log: Log) => function sum(this: unknown, a: unknown, b: unknown) { log('sum', this, [a, b]); return Number(a) + Number(b) }
const selfOf = (log: Log) => function selfOf(this: unknown, a: unknown, b: unknown, c: unknown) { log('self', this, [a, b, c]); return [this, a, b, c] }
const throws = (log: Log) => function throws(this: unknown, ...given: unknown[]): never { log('throws', this, given); throw new RangeError('from the callback') }
const same = (log: Log) => function same(this: unknown, ...given: unknown[]) { log('same', this, given); return given[0] === given[1] }

const call = (args: Call['args']): Call => ({ args })

const pairs: readonly Call[] = [
  ...[identityOf, isBig, sum, selfOf, throws].flatMap((made) => [
    call((log) => [[3, 1, 2, 1], made(log)]), call((log) => [nested(), made(log)]), call((log) => [made(log), 2]), call((log) => [made(log), [1, 'a']]),
  ]),
  call((log) => [isBig(log), sum(log)]), call((log) => [[isBig(log), sum(log)], [sum(log)]]), call((log) => [3, identityOf(log)]),
  call((log) => ['ab', identityOf(log)]),
  call((log) => [sum(log), { x: 1 }]), call((log) => [{ f: sum(log), x: 1 }, 'f']), call((log) => [{ f: selfOf(log) }, ['f']]),
  call(() => [people(), 'user']), call(() => [people(), ['age', 40]]), call(() => [people(), { active: true }]), call(() => [people(), ['user', 'age']]),
  call(() => [nested(), 'b.c[1].d']), call(() => [nested(), ['b', 'c']]), call(() => [nested(), 'f.g']), call(() => ['b.c[1].d', nested()]),
  call(() => [new Pet(), 'speak']),
  call(() => [nested(), { a: 1 }]), call(() => [nested(), nested()]), call(() => [cyclic(), cyclic()]), call(() => [new Pet(), { name: 'Ada', more: [1] }]),
  call(() => [[3, 1, 2, 1], 2]), call(() => [[3, 1, 2, 1], -1]), call(() => [[3, 1, 2, 1], 0]), call(() => [[3, 1, 2], [1, 5]]),
  call(() => [mixed(), NaN]), call(() => [mixed(), [NaN, 0, null]]),
  call(() => [['a', 'b'], [1, 2]]), call(() => ['fooBar', 3]), call(() => ['foo bar foo', 'foo']), call(() => ['ab', 'b']), call(() => ['--é--', '-']),
  call(() => [5, 3]), call(() => [-0, 0]),
  call(() => [NaN, NaN]), call(() => [4.256, 2]), call(() => ['10', 2]), call(() => [1, 'b']), call(() => [Symbol.for('s'), 1]),
  call(() => [null, 'a']), call(() => ['a', { a: 1 }]), call(() => [2n, 3n]),
  call(() => [Buffer.from('abc'), true]), call(() => [Buffer.from('abc'), Buffer.from('abc')]), call(() => [new Uint8Array([1, 2]), true]),
  call(() => [new Map([['a', 1]]), new Map([['a', 1]])]),
  call(() => [new Set([[1]]), new Set([[1]])]), call(() => [new Date(0), new Date(0)]), call(() => [/a/g, /a/g]), call(() => [new Error('x'), new Error('x')]),
  call(() => [Object.freeze({ a: 1, b: 2 }), 'a']), call(() => [Object.freeze({ a: 1, b: 2 }), { a: 3, c: 4 }]),
  call(() => [Object.freeze([3, 1, 2]), [1, 9]]), call(() => [Object.freeze([3, 1]), 0]), call((log) => [Object.freeze({ a: 1 }), { f: sum(log) }]),
  call(() => ['<%= a %> ${b} <%- c %>', { variable: 'o' }]), call(() => ['{{a}}', { interpolate: /{{([\s\S]+?)}}/g }]),
]

const longer: readonly Call[] = [
  ...[identityOf, isBig, sum, selfOf, same].flatMap((made) => [
    call((log) => [[3, 1, 2, 1], made(log), 0]), call((log) => [nested(), made(log), []]), call((log) => [[3, 1], [1, 2], made(log)]),
    call((log) => [nested(), { a: { z: 1 }, b: { c: [9] } }, made(log)]),
    call((log) => [made(log), 1, 'x', [2]]), call((log) => [nested(), 'b.c', made(log)]),
  ]),
  call(() => [nested(), 'b.c[0]', 'new']), call(() => [nested(), ['x', '0', 'y'], 1]), call(() => [nested(), '__proto__.polluted', 1]),
  call(() => [nested(), 'b', nested(), 2]),
  call(() => [{}, nested(), { b: { c: [7] } }]), call(() => [new Pet(), nested(), new Pet()]),
  call(() => [{ a: Buffer.from('x') }, { a: Buffer.from('yz'), m: new Map([[1, 2]]) }]),
  call(() => [Object.freeze({ a: 1 }), 'a', 2]), call(() => [Object.freeze({ a: 1 }), ['b'], 2, undefined]),
  call(() => [Object.freeze([3, 1, 2]), 0, 1, 2]), call(() => [Object.freeze([3, 1, 2]), 1, [7, 8], 9]),
  call(() => [people(), ['active', 'age'], ['asc', 'desc']]), call(() => [[3, 1, 2, 1], 9, 1, 3]), call(() => [[3, 1, 2], [1], [2, 3]]),
  call(() => [['a', 'b'], [1, 2], [true, false]]),
  call(() => [1, 5, 2]), call(() => [5, 1, -1]), call(() => [3, 2, 4]), call(() => [0, 3, 0]), call(() => [10, -5, 5]), call(() => ['foo', 8, '_-']),
  call(() => ['ab', 5, '👩']), call(() => ['a-b-c', '-', 2]), call(() => ['foo bar', /o/g, '0']),
  call(() => ['foo bar baz', { length: 8, separator: /,? +/ }, undefined]), call(() => ['abc', 'c', 1]),
  call((log) => [sum(log), { placeholder: {} }, 1, 2]), call((log) => [{ f: selfOf(log), x: 1 }, 'f', 1, 2]),
  call((log) => [sum(log), 10, { leading: true, trailing: true }]), call((log) => [[3, 1, 2], identityOf(log), same(log)]),
  call((log) => [[sum(log)], true, sum(log)]),
  call((log) => [[3, 1, 2], isBig(log), 2, true]), call((log) => [[3, 1, 2], sum(log), 0, false, identityOf(log)]),
  call(() => [nested(), nested(), 3]), call((log) => [nested(), nested(), 1, same(log), identityOf(log)]),
  ...[0, 1, 2, 3, 4].map((count) => call((log) => [selfOf(log), { t: 1 }, [1, 2, 3, 4].slice(0, count)])),
  ...[1, 2, 3].flatMap((bitmask) => [
    call((log) => [[1, [2], 3], [1, [2], 4], bitmask, undefined, same(log), new Map()]),
    call((log) => [[1, 2], [2, 1], bitmask, undefined, same(log), new Map()]),
    call((log) => [{ a: 1, b: 2 }, { b: 2, a: 1 }, bitmask, undefined, same(log), new Map()]),
    call((log) => [{ a: 1 }, { a: 2, c: 3 }, bitmask, same(log), same(log), new Map()]),
    call((log) => [new Date(5), new Date(5), '[object Date]', bitmask, undefined, same(log), new Map()]),
    call((log) => [new Map([[1, 2]]), new Map([[1, 2]]), '[object Map]', bitmask, undefined, same(log), new Map()]),
    call((log) => [Symbol.for('s'), Symbol.for('s'), '[object Symbol]', bitmask, undefined, same(log), new Map()]),
  ]),
  call(() => [[3, 1, 2, 1], 1, 0]), call(() => [[3, 1, 2, 1], 1, 2]), call(() => [[NaN, 1, NaN], NaN, 1]), call((log) => [[3, 1, 2], 1, 0, same(log)]),
  call((log) => [[3, 1, 2, 1], isBig(log), 0]),
  call((log) => [{ a: 2, b: 1 }, { a: isBig(log) }]), call((log) => [[[isBig(log), sum(log)], [identityOf(log), sum(log)]]]), call(() => [5, 1, 5]),
  call(() => [1, 1, 5]), call(() => ['foo', 3, '_']), call(() => ['foo bar foo', 'foo', 0]),
  call((log) => [people(), [identityOf(log), 'age'], ['desc', 'asc']]),
  call(() => [{ criteria: [1, 2], index: 0 }, { criteria: [1, 3], index: 1 }, ['asc', 'desc']]),
  call(() => [{ criteria: [1], index: 0 }, { criteria: [1], index: 1 }, ['asc']]),
]

const calls: readonly Call[] = [call(() => []), ...values.map((make) => call(() => [make()])), ...pairs, ...longer]

/** Only for modules that never loop up to a number: `times(Infinity)` does not end. */
const unbounded: readonly Call[] = [Infinity, -Infinity, 'Infinity', 1e300, Number.MAX_SAFE_INTEGER + 2].map((value) => call(() => [value]))

export function callsFor(path: string): readonly Call[] {
  return /^(is|to[A-Z]|_baseTo|_toKey|_isIndex)/.test(path) && path !== 'toArray.js' ? [...calls, ...unbounded] : calls
}

/** What methods are called with on each receiver, and constructors with `new`. */
export const methodCalls: readonly Call[] = [
  ...values.filter((_, index) => index % 3 === 0).map((make) => call(() => [make()])),
  call(() => []), call(() => ['a']), call(() => ['b', 2]), call(() => [NaN, { x: 1 }]), call((log) => [sum(log)]), call((log) => [isBig(log), 1]),
]

/** What a function that came out of a call is called with in turn. */
export const followUps: readonly Call[] = [
  call(() => []), call(() => [[3, 1, 2]]), call(() => ['b.c']), call(() => [nested(), 'a']), call((log) => [2, sum(log), { x: 1 }]),
  call(() => [Object.freeze({ a: 1 }), { a: 2 }]),
  call((log) => [[3, 1, 2], isBig(log)]), call((log) => [nested(), identityOf(log), (object: object) => Object.keys(object)]),
]
