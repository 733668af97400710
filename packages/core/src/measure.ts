/**
 * One look at a value before anything is done with it: whether JSON keeps it, whether any codec does, and what it takes. An object that is reached
 * twice is looked at once and counts twice, so the look takes as long as the value is in memory, however much it would be written out. Pure.
 */
import { PawlError } from './errors.ts'

const deepest = 500
/** The least that one part of a value takes in any text, apart from the text it holds: itself and what divides it from the next. */
const partBytes = 2

/** Worse ones are longer to write. `views`: bytes that lie in a larger buffer are among it. */
const shapes = ['json', 'lossless', 'views'] as const
export type Shape = (typeof shapes)[number]

export interface Measured {
  readonly shape: Shape
  /** The least it takes written out as a tree. A text of it without references is as long, or longer. */
  readonly bytes: number
  /** How much of that is there because an object is reached again. */
  readonly repeated: number
}

/** Of a value that was looked at whole. `depth`: of objects in it, itself among them. */
interface Known {
  readonly shape: Shape
  readonly bytes: number
  readonly depth: number
}

const worse = (a: Shape, b: Shape): Shape => (shapes.indexOf(a) > shapes.indexOf(b) ? a : b)

/** Throws `UNSTORABLE`, naming the path, and `TOO_LARGE` for an array longer than `mostBytes` has room for, whose holes are not gone through. */
export function measure(value: unknown, what: string, mostBytes: number): Measured {
  const look = new Look(what, mostBytes)
  const { shape, bytes } = look.at(value, what, 0)
  return { shape, bytes, repeated: look.repeated }
}

class Look {
  repeated = 0
  /** Undefined: being looked at, so whoever meets it again is inside it. */
  readonly #known = new Map<object, Known | undefined>()
  readonly #what: string
  readonly #mostBytes: number

  constructor(what: string, mostBytes: number) {
    this.#what = what
    this.#mostBytes = mostBytes
  }

  at(value: unknown, path: string, above: number): Known {
    switch (typeof value) {
      case 'string': return { shape: 'json', bytes: partBytes + value.length, depth: 0 }
      case 'boolean': return plain
      case 'number': return Number.isFinite(value) && !Object.is(value, -0) ? plain : special
      case 'bigint': case 'undefined': return special
      case 'object': return value === null ? plain : this.#inObject(value, path, above)
      default: throw unstorable(path, `a ${typeof value}`)
    }
  }

  #inObject(value: object, path: string, above: number): Known {
    const before = this.#known.get(value)
    if (before === undefined && this.#known.has(value)) throw unstorable(path, 'a value that contains itself')
    if (above + (before?.depth ?? 1) > deepest + 1) throw unstorable(path, `nesting deeper than ${deepest}`)
    if (before !== undefined) {
      this.repeated += before.bytes
      return before
    }
    this.#known.set(value, undefined)
    const found = this.#whole(value, path, above + 1)
    this.#known.set(value, found)
    return found
  }

  #whole(value: object, path: string, above: number): Known {
    let shape: Shape = 'json'
    let bytes = partBytes
    let depth = 0
    const add = (inner: unknown, where: string): void => {
      const found = this.at(inner, where, above)
      shape = worse(shape, found.shape)
      bytes += found.bytes
      depth = Math.max(depth, found.depth)
    }
    if (Array.isArray(value)) {
      if (value.length * partBytes > this.#mostBytes) throw tooLarge(this.#what, value.length * partBytes, this.#mostBytes)
      for (let i = 0; i < value.length; i++) add(value[i], `${path}[${i}]`)
    } else if (value instanceof Map) {
      shape = 'lossless'
      for (const [k, v] of value) {
        add(k, `${path}.<key>`)
        add(v, `${path}.get(${typeof k === 'object' ? '<key>' : String(k)})`)
      }
    } else if (value instanceof Set) {
      shape = 'lossless'
      for (const v of value) add(v, `${path}.<member>`)
    } else if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
      shape = value instanceof ArrayBuffer || value.byteLength === value.buffer.byteLength ? 'lossless' : 'views'
      bytes += value.byteLength
    } else if (value instanceof Date || value instanceof URL || value instanceof RegExp) {
      shape = 'lossless'
    } else {
      const prototype: unknown = Object.getPrototypeOf(value)
      if (prototype !== Object.prototype && prototype !== null) throw unstorable(path, `an instance of ${value.constructor?.name ?? 'a class'}`)
      if (Object.getOwnPropertySymbols(value).length > 0) throw unstorable(path, 'an object with symbol keys')
      for (const [k, v] of Object.entries(value)) {
        if (k === '__proto__') throw unstorable(path, 'an object with a "__proto__" key')
        bytes += k.length
        add(v, `${path}.${k}`)
      }
    }
    return { shape, bytes, depth: depth + 1 }
  }
}

const plain: Known = { shape: 'json', bytes: partBytes, depth: 0 }
const special: Known = { shape: 'lossless', bytes: partBytes, depth: 0 }

function unstorable(path: string, what: string): PawlError {
  return new PawlError('UNSTORABLE', `${path} is ${what}, which the ledger cannot keep and give back unchanged. Pass plain data: JSON values, Date, BigInt, Map, Set or bytes.`, 'fail', { path })
}

/** `how`: what the figure counts, where that is not the text. */
export function tooLarge(what: string, bytes: number, maxBytes: number, how = ''): PawlError {
  const figure = Math.min(bytes, Number.MAX_SAFE_INTEGER)
  return new PawlError('TOO_LARGE', `${what} takes ${figure} bytes${how}; the limit is ${maxBytes}. Store it elsewhere and pass a reference.`, 'fail', { bytes: figure, maxBytes })
}
