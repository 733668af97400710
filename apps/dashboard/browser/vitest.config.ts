import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// Of their own: they need a Chromium and built workers, and take minutes. The pages are the built ones; the dashboard that serves them is the sources'.
export default defineConfig({
  root: fileURLToPath(new URL('../../..', import.meta.url)),
  resolve: { conditions: ['@pawl/source'] },
  ssr: { resolve: { conditions: ['@pawl/source'], externalConditions: ['@pawl/source'] } },
  test: {
    include: ['apps/dashboard/browser/*.browser.ts'],
    globalSetup: ['tests/setup/services.ts'],
    env: { NO_COLOR: '1' },
    // Each has a fleet that is being killed and a browser: beside each other they would measure the machine.
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 600_000,
    pool: 'forks',
  },
})
