import { describe, expect, test } from 'vitest'
import { changedNumberIn, parseJson, refuseChangedNumbers } from './json.ts'

describe('parseJson', () => {
  test.each(['{"a":[1,2.5,-3e10,true,null,"\\"9007199254740993\\\\"]}', '9007199254740991', '-0.1', '1e400', '"[[[["', '""', '12345678901234567e-3'.slice(0, 15)])('%s is what JSON.parse makes of it', (text) => {
    expect(parseJson(text, 'It')).toEqual(JSON.parse(text))
  })
  test.each(['9007199254740993', '-9007199254740993', '[5810142810638157171]', '{"a":0.12345678901234567891}'])('%s is refused and not changed', (text) => {
    expect(() => parseJson(text, 'It')).toThrow(/It holds the number .* a double would change/)
  })
  test.each(['', '{', '"abc', '"abc\\', '[1,]', '{"a":1}}', 'NaN', '\u0000'])('%j is refused as no JSON', (text) => {
    expect(() => parseJson(text, 'It')).toThrow(/It is not JSON/)
  })
  test('a hundred megabytes of nesting are refused before they are parsed', () => {
    expect(() => parseJson('['.repeat(10_000_000), 'It')).toThrow(/deeper than 500/)
  })
})

test('a number that would be changed is found as it is written, and what a library has parsed is refused where it may have been (case 63)', () => {
  expect([changedNumberIn('{"id":"9007199254740993","n":1.5}'), changedNumberIn('{"id": 9007199254740993}')]).toEqual([undefined, '9007199254740993'])
  expect(() => refuseChangedNumbers({ a: [1, 2.5, '9007199254740993', 9007199254740991, 1.5e-9] }, 'input')).not.toThrow()
  expect(() => refuseChangedNumbers(JSON.parse('{"a":[{"id":9007199254740993}]}'), 'input')).toThrow(/^input\.a\.0\.id holds the number 9007199254740992/)
  expect(() => refuseChangedNumbers(JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)), 'input')).toThrow(/deeper than 500/)
})
