import { MantineProvider } from '@mantine/core'
import { renderToStaticMarkup } from 'react-dom/server'
import { afterEach, expect, test, vi } from 'vitest'
import { Command } from './empty.tsx'

afterEach(() => { vi.unstubAllGlobals() })

test('a line can be copied with a button only where the browser has a clipboard for this page; over plain http it has none', () => {
  const shown = (): string => renderToStaticMarkup(<MantineProvider><Command text="npx pawl inbox" /></MantineProvider>)
  vi.stubGlobal('isSecureContext', true)
  expect(shown()).toMatch(/npx pawl inbox.*<button/)
  vi.stubGlobal('isSecureContext', false)
  expect(shown()).toContain('npx pawl inbox')
  expect(shown()).not.toContain('<button')
})
