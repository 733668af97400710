import { defineConfig, mergeConfig } from 'vitest/config'
import config from './vitest.config.ts'

// The same ground as the tests: a world, a dashboard, a Chromium. Only that it looks instead of asking.
const shots = mergeConfig(config, defineConfig({ test: { testTimeout: 600_000 } }))
export default { ...shots, test: { ...shots.test, include: ['apps/dashboard/browser/*.shots.ts'] } }
