import { visibleText } from '@pawl/core'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import { MantineProvider } from '@mantine/core'
import { textOf, Value, Visible } from './visible.tsx'

const evil = '<script>alert(1)</script>'
const disguised = 'invoice-\u202Efdp.exe'

test('text of the ledger is text: no markup gets through', () => {
  const shown = renderToStaticMarkup(<Visible text={evil} />)
  expect(shown).not.toContain('<script')
  expect(shown).toContain('alert(1)')
})

test.for([['an override', '\u202E'], ['a zero-width space', '\u200B'], ['a bell', '\u0007'], ['a lone surrogate', '\uD800'], ['a Hangul filler', '\u3164'], ['a tag beyond the first plane', '\u{E0041}'], ['a line separator', '\u2028']])('%s is shown by its number, not obeyed', ([, character]) => {
  const shown = renderToStaticMarkup(<Visible text={`a${character}b`} />)
  expect(shown).not.toContain(character)
  expect(shown).toMatch(/a<mark[^>]*>U\+[0-9A-F]{4,6}<\/mark>b/)
  expect(visibleText(`a${character}b`)).toMatch(/^a⟨U\+[0-9A-F]{4,6}⟩b$/)
})

test('what every text holds stays as it is', () => {
  expect(renderToStaticMarkup(<Visible text={'Grüße,\n\t日本 👍'} />)).toBe('Grüße,\n\t日本 👍')
  expect(visibleText(disguised)).toBe('invoice-⟨U+202E⟩fdp.exe')
})

test('values are shown as JSON where JSON can say them, else in the ledger’s own encoding', () => {
  expect(textOf({ a: [1, 'x'] })).toBe('{\n  "a": [\n    1,\n    "x"\n  ]\n}')
  expect(textOf(new Map([['a', 1n]]))).toMatch(/^~/)
})

test('a value that a list left out is told by its size, and not shown as if it were the value', () => {
  const shown = renderToStaticMarkup(<MantineProvider><Value value={{ $pawl: 'omitted', bytes: 900_000 }} /></MantineProvider>)
  expect(shown).toContain('left out here: 900,000 bytes')
  expect(shown).not.toContain('$pawl')
})
