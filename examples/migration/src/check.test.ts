import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { checkModule } from './check.ts'
import { callsFor, followUps, methodCalls } from './inputs.ts'
import { findLodash } from './modules.ts'
import { layShims, shimSource } from './shim.ts'
import { transformModule } from './transform.ts'

const lodash = findLodash()
const root = mkdtempSync(join(tmpdir(), 'pawl-migration-'))
// Vitest compiles what it imports, except below a node_modules: only there do the migrated files meet Node's own ES modules.
const out = join(root, 'node_modules')
mkdirSync(out)
layShims(out, lodash, [])
afterAll(() => rmSync(root, { recursive: true, force: true }))

function migrate(path: string): string {
  const made = transformModule(path, readFileSync(join(lodash, path), 'utf8'))
  if ('refused' in made) throw new Error(made.refused)
  return made.source
}

/** Puts a migrated module in place, changed at one spot, and checks it. */
async function checkBroken(path: string, from: string | RegExp, to: string, limitMs?: number): Promise<string> {
  const source = migrate(path)
  const broken = source.replace(from, to)
  expect(broken, 'the spot to break is there').not.toBe(source)
  return checkSource(path, broken, limitMs)
}

async function checkSource(path: string, source: string, limitMs = 10_000): Promise<string> {
  writeFileSync(join(out, path), source)
  const verdict = await checkModule({ outFolder: out, originalFolder: lodash, path, limitMs })
  return verdict.ok ? 'ok' : verdict.reason
}

test.each(['chunk.js', 'isBuffer.js', '_cloneBuffer.js', 'shuffle.js', 'uniqueId.js', 'now.js', 'debounce.js', 'array.js', '_MapCache.js', '_hashClear.js', 'template.js', '_root.js'])(
  'a faithful %s passes', async (path) => {
    expect(await checkSource(path, migrate(path))).toBe('ok')
  })

test.each<[string, string, string | RegExp, string, RegExp]>([
  ['a wrong bound', 'chunk.js', 'index < length', 'index < length - 1', /^chunk\.js, called with .*: the original .*16: .*, the migrated one .*15: /],
  ['a Buffer no longer known', 'isBuffer.js', 'root.Buffer', 'undefined', /its export|the original returned true, the migrated one returned false/],
  ['a Buffer cloned as bytes', '_cloneBuffer.js', 'root.Buffer', 'undefined', /_cloneBuffer\.js, called with/],
  ['-0 turned into 0', 'toNumber.js', 'return value;', 'return value + 0;', /-0.*the original returned -0, the migrated one returned 0/],
  ['an error with other words', 'before.js', 'throw new TypeError(FUNC_ERROR_TEXT)', "throw new TypeError('No')", /threw error\(Expected a function\).*threw error\(No\)/],
  ['a lost error', 'after.js', 'throw new TypeError(FUNC_ERROR_TEXT)', 'return func', /the original threw/],
  ['a strict this handed on', 'negate.js', /Object\(this \?\? globalThis\)/g, 'this', /callback .* on globalThis .*callback .* on undefined/],
  ['a copy handed back for the argument', 'reverse.js', 'nativeReverse.call(array)', 'nativeReverse.call(Array.isArray(array) ? array.slice() : array)', /, its argument 0, the migrated one/],
  ['an argument left as it was', 'remove.js', 'basePullAt(array, indexes)', 'basePullAt(array.slice(), indexes)', /arguments after/],
  ['other draws from chance', 'random.js', 'lower + (rand', 'upper - (rand', /the original returned/],
  ['a timer of another length', '_baseDelay.js', ', wait)', ', wait + 1)', /set a timer of/],
  ['a callback called with less', '_arrayMap.js', 'iteratee(array[index], index, array)', 'iteratee(array[index], index)', /callback/],
  ['a global left behind', '_hashHas.js', 'var data =', 'globalThis.leaked = 1; var data =', /left a global leaked/],
  ['a member of another name', 'array.js', "'first': first", "'first': last", /its export/],
  ['a member of the same shape', 'array.js', /'difference': difference,([^]*)'without': without,/, "'difference': without,$1'without': difference,", /its difference called with/],
  ['another prototype', '_Hash.js', 'Hash.prototype.clear', 'Hash.prototype.clean', /its export/],
  ['a name that is not there', 'eq.js', 'value === other', 'valu === other', /valu is not defined/],
])('%s is found', async (_, path, from, to, reason) => {
  expect(await checkBroken(path, from, to)).toMatch(reason)
})

test('every call makes its arguments anew: what one module writes into them is not there for the next', () => {
  const shared = [...callsFor('isNil.js'), ...followUps, ...methodCalls].flatMap(({ args }) => {
    const [once, again] = [args(() => {}), args(() => {})]
    return once.filter((value, at) => (typeof value === 'object' || typeof value === 'function') && value !== null && value === again[at])
  })
  expect(shared).toEqual([])
})

test('an endless loop ends with its reason, and the clock and timers are real again', async () => {
  const { setTimeout } = globalThis
  expect(await checkBroken('times.js', 'var index', 'while (true);\n  var index', 300)).toBe('times.js, did not finish its calls within 300 ms')
  expect(globalThis.setTimeout).toBe(setTimeout)
  expect(Math.abs(Date.now() - performance.timeOrigin - performance.now())).toBeLessThan(60_000)
})

test('what does not parse, exports by name, is a shim, or still speaks CommonJS is told by its kind', async () => {
  expect(await checkSource('eq.js', 'export default {')).toMatch(/^eq\.js does not load: SyntaxError/)
  expect(await checkSource('eq.js', "import gone from './gone.js'\nexport default gone")).toMatch(/^eq\.js does not load: .*gone\.js/)
  expect(await checkSource('eq.js', 'export default 1; export const eq = 2')).toBe('eq.js exports default, eq where one default export is due')
  expect(await checkSource('eq.js', shimSource('eq.js', lodash))).toBe('eq.js is still the shim over its original')
  expect(await checkSource('eq.js', "import { createRequire } from 'node:module'\nconst require = createRequire('/x')\nexport default require('./eq')")).toBe('eq.js still contains require(')
})

test('the verdict on a rewritten file is about what it holds now', async () => {
  expect(await checkBroken('add.js', 'augend + addend', 'augend - addend')).not.toBe('ok')
  expect(await checkSource('add.js', migrate('add.js'))).toBe('ok')
})

test('a dependency that is broken in the output folder does not fail the modules above it', async () => {
  writeFileSync(join(out, '_createMathOperation.js'), 'export default () => () => 0')
  expect(await checkSource('multiply.js', migrate('multiply.js'))).toBe('ok')
})

test('the check leaves nothing for git to see', () => {
  expect(readFileSync(join(out, '.check', '.gitignore'), 'utf8')).toBe('*\n')
  expect(readdirSync(out).filter((name) => !name.endsWith('.js')).sort()).toEqual(['.check', 'package.json'])
})
