import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

// What an attacker could do, against started processes and servers. Apart from `npm test`: some of it waits for deadlines.
export default defineConfig({ ...base, test: { ...base.test, include: ['tests/security/*.security.ts'], testTimeout: 120_000, hookTimeout: 120_000 } })
