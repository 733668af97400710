import { isUuid, newId } from '@pawl/core'
import { afterEach, expect, test, vi } from 'vitest'

// As the build has it: a page has none of Node's modules.
vi.mock('node:crypto', () => import('./no-crypto.ts'))
afterEach(() => { vi.unstubAllGlobals() })

test('a page over plain http, which has no randomUUID unless it is this machine’s, makes ids all the same', () => {
  const { crypto } = globalThis
  vi.stubGlobal('crypto', { getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes) })
  const ids = [newId(), newId()]
  expect(ids.every(isUuid)).toBe(true)
  expect(new Set(ids).size).toBe(2)
})
