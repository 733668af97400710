import { expect, test } from 'vitest'
import { filterOf, isFiltered, readView, writeView } from './filter.ts'

test('an address says which runs are shown, and gives itself back', () => {
  const text = 'status=running&status=failed&agent=mailing&label=campaign%3Aspring&label=a%3Ab%3Ac&search=0190a&paused=true'
  const view = readView(new URLSearchParams(text))
  expect(writeView(view).toString()).toBe(text)
  expect(filterOf(view)).toEqual({ agent: 'mailing', labels: { campaign: 'spring', a: 'b:c' }, search: '0190a', paused: true })
})

test('what an address says wrongly is left out, and an empty one asks for everything', () => {
  const view = readView(new URLSearchParams('status=nonsense&label=nocolon&label=%3Anoname&agent=%20&paused=perhaps&find='))
  expect(isFiltered(view)).toBe(false)
  expect(filterOf(view)).toEqual({})
})

test('of two values under one name the later is asked for, and it alone is shown', () => {
  const view = readView(new URLSearchParams('label=team%3Ared&label=order%3A1&label=team%3Ablue'))
  expect(view.labels).toEqual(['order:1', 'team:blue'])
  expect(filterOf(view)).toEqual({ labels: { order: '1', team: 'blue' } })
})
