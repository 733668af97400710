import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findLodash } from './modules.ts'
import { transformModule } from './transform.ts'

const lodash = findLodash()
const migrate = (path: string): string => {
  const made = transformModule(path, readFileSync(join(lodash, path), 'utf8'))
  return 'source' in made ? made.source : `refused: ${made.refused}`
}
const transform = (source: string): unknown => transformModule('x.js', source)

test('requires become default imports and module.exports the default export; the rest stays to the letter', () => {
  const source = "var a = require('./_a'),\n    b = require('./b');\n\n/** Says why. */\nfunction f(x)   { return a( b, x ) }\n\nmodule.exports = f;\n"
  expect(transform(source)).toEqual({
    source: "import a from './_a.js';\nimport b from './b.js';\n\n/** Says why. */\nfunction f(x)   { return a( b, x ) }\n\nexport default f;\n",
  })
})

test('a require inside an expression is imported under the name of its module', () => {
  expect(migrate('each.js')).toBe("import forEach from './forEach.js';\n\nexport default forEach;\n")
  expect(migrate('date.js')).toBe("import now from './now.js';\n\nexport default {\n  'now': now\n};\n")
})

test('what is declared beside a require stays declared', () => {
  expect(transform("var a = require('./a'), two = 2;\nmodule.exports = a + two;")).toEqual({
    source: "import a from './a.js';\n\nvar two = 2;\nexport default a + two;\n",
  })
})

test('module detection folds to what it is under CommonJS', () => {
  expect(migrate('isBuffer.js')).toContain('var Buffer = root.Buffer;')
  expect(migrate('_nodeUtil.js')).toContain('var types = util.types;')
  for (const path of ['isBuffer.js', '_cloneBuffer.js', '_nodeUtil.js']) expect(migrate(path)).not.toMatch(/freeExports|freeModule|moduleExports/)
})

test('this is written out as the sloppy rule', () => {
  expect(transform('function f() { return this; }\nmodule.exports = f;')).toEqual({
    source: 'function f() { return Object(this ?? globalThis); }\nexport default f;\n',
  })
})

test('a module over something that is not migrated is refused', () => {
  expect(migrate('index.js')).toMatch(/^refused: index\.js only hands on \.\/lodash, .* would stay a wrapper/)
  expect(migrate('fp.js')).toMatch(/^refused: fp\.js only hands on \.\/lodash\.min, /)
})

test.each([
  ['var a = require(name); module.exports = a;', 'something computed'],
  ["var fs = require('fs'); module.exports = fs;", 'only hands on fs'],
  ['exports.a = 1; module.exports = 2;', "uses 'exports'"],
  ['module.exports = 1; module.exports = 2;', 'assigns module.exports 2 times'],
  ['var a = 1;', 'assigns module.exports 0 times'],
  ["var a = require('./a'); a = 2; module.exports = a;", 'assigns to a required name'],
  ["module.exports = function () { return typeof require; };", "uses 'require'"],
])('%s is refused', (source, reason) => {
  expect(transform(source)).toEqual({ refused: expect.stringContaining(reason) as string })
})
