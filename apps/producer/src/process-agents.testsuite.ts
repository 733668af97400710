import { defineAgent } from '@pawl/harness'
import { z } from 'zod'

/** Takes any items; without vitest in its imports, so that a plain process can load it. */
export const stock = defineAgent({ name: 'stock', version: '1', inputSchema: z.unknown(), payloadSchema: z.unknown(), tools: {}, run: async () => undefined })
