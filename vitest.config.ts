import { defineConfig } from 'vitest/config'

// Tests read the workspaces' sources through the private condition, so a stale build cannot pass for a fresh one.
export default defineConfig({
  resolve: { conditions: ['@pawl/source'] },
  ssr: { resolve: { conditions: ['@pawl/source'], externalConditions: ['@pawl/source'] } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'apps/*/src/**/*.test.ts', 'apps/*/web/src/**/*.test.{ts,tsx}', 'examples/*/src/**/*.test.ts', 'tests/**/*.test.ts'],
    globalSetup: ['tests/setup/services.ts'],
    // Colours are on wherever CI is set; what commands print is compared as plain text.
    env: { NO_COLOR: '1' },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
  },
})
