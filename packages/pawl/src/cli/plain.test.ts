import { expect, test } from 'vitest'
import { cut, plain, plainLines, short } from './plain.ts'

test('text of others can neither move the cursor, recolour the screen, break the line nor turn the reading direction', () => {
  expect(plain('a\u001b[31mred\u009b2J\r\nb\u202egnp.exe\u2066\u200f')).toBe('a⟨U+001B⟩[31mred⟨U+009B⟩2J⟨U+000D⟩⟨U+000A⟩b⟨U+202E⟩gnp.exe⟨U+2066⟩⟨U+200F⟩')
})

test('a second line is no line of ours: it is set in, and plain as the first', () => {
  expect(plainLines('it failed:\r\npawl: all\u202E is well\n')).toBe('it failed:\n  pawl: all⟨U+202E⟩ is well')
})

test('what has no width, or looks like a space, is named as well: a tag, a soft hyphen, a filler, a lone surrogate', () => {
  expect(plain('a\u{E0041}b\u00ADc\u3164d\uD800e')).toBe('a⟨U+E0041⟩b⟨U+00AD⟩c⟨U+3164⟩d⟨U+D800⟩e')
})

test('letters of every script stay as they are', () => {
  for (const text of ['Grüße', '日本語', 'שלום', '🚀', 'a b']) expect(plain(text)).toBe(text)
})

test('a cut never splits a sign in two', () => {
  expect(cut('🚀🚀🚀', 2)).toBe('🚀…')
  expect(cut('🚀🚀', 2)).toBe('🚀🚀')
})

test('a value that a list left out is told by its size', () => {
  expect(short({ $pawl: 'omitted', bytes: 900_000 })).toBe('(900,000 bytes, left out here)')
  expect(short({ $pawl: 'omitted' })).toBe('{"$pawl":"omitted"}')
})

test('a value that JSON cannot show is shown by its kind', () => {
  const cyclic: { self?: unknown } = {}
  cyclic.self = cyclic
  expect(short(cyclic)).toContain('object')
  expect(short({ n: 5n })).toBe('{"n":"5n"}')
  expect(short(undefined)).toBe('–')
})
