import { expect, test } from 'vitest'
import { cut, plain, short } from './plain.ts'

test('text of others can neither move the cursor, recolour the screen, break the line nor turn the reading direction', () => {
  expect(plain('a\u001b[31mred\u009b2J\r\nb\u202egnp.exe\u2066\u200f')).toBe('a\\u001b[31mred\\u009b2J\\u000d\\u000ab\\u202egnp.exe\\u2066\\u200f')
})

test('letters of every script stay as they are', () => {
  for (const text of ['Grüße', '日本語', 'שלום', '🚀', 'a b']) expect(plain(text)).toBe(text)
})

test('a cut never splits a sign in two', () => {
  expect(cut('🚀🚀🚀', 2)).toBe('🚀…')
  expect(cut('🚀🚀', 2)).toBe('🚀🚀')
})

test('a value that JSON cannot show is shown by its kind', () => {
  const cyclic: { self?: unknown } = {}
  cyclic.self = cyclic
  expect(short(cyclic)).toContain('object')
  expect(short({ n: 5n })).toBe('{"n":"5n"}')
  expect(short(undefined)).toBe('–')
})
