/**
 * The objects a method-like module (`_hashGet`, `commit`, `next`) is called on. The caches and wrappers are built by the
 * library under observation itself, original or migrated: `instanceof` inside a module must meet its own classes.
 */
export type Receivers = readonly { readonly name: string; readonly make: () => unknown }[]

type Load = (path: string) => unknown
type Constructor = new (...given: unknown[]) => object

/** Classes that `makeReceivers` asks for. */
export const receiverClasses = ['_Hash.js', '_ListCache.js', '_MapCache.js', '_Stack.js', '_SetCache.js', '_LodashWrapper.js', '_LazyWrapper.js'] as const

export function makeReceivers(load: Load): Receivers {
  const build = (path: (typeof receiverClasses)[number], ...given: unknown[]): object => {
    const made = load(path)
    if (!isConstructor(made)) throw new TypeError(`${path} of lodash does not export a constructor`)
    return new made(...given)
  }
  const entries = (): unknown[][] => [['a', 1], ['b', { c: 2 }], [NaN, 3]]
  const wrapped = (): object => build('_LodashWrapper.js', [3, 1, 2])
  return [
    { name: 'undefined', make: () => undefined },
    { name: '5', make: () => 5 },
    { name: 'a plain object', make: () => ({ a: 1, size: 2, value: () => [1, 2], __wrapped__: [1, 2], __actions__: [] }) },
    { name: 'a Hash', make: () => build('_Hash.js', entries()) },
    { name: 'a ListCache', make: () => build('_ListCache.js', entries()) },
    { name: 'a MapCache', make: () => build('_MapCache.js', entries()) },
    { name: 'a Stack', make: () => build('_Stack.js', entries()) },
    { name: 'a SetCache', make: () => build('_SetCache.js', ['a', NaN, 1]) },
    { name: 'a wrapper', make: wrapped },
    { name: 'a lazy wrapper', make: () => build('_LazyWrapper.js', Object.assign(wrapped(), { value: () => [3, 1, 2] })) },
    { name: 'a wrapper of a lazy wrapper', make: () => build('_LodashWrapper.js', build('_LazyWrapper.js', wrapped()), true) },
  ]
}

function isConstructor(value: unknown): value is Constructor {
  return typeof value === 'function' && 'prototype' in value
}
