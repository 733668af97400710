import { defineTool } from 'pawl'
import { z } from 'zod'
import { checkModule } from './check.ts'
import { proveLoads } from './prove.ts'
import { transformModule } from './transform.ts'

export interface Folders {
  /** The published package's CommonJS files. */
  readonly original: string
  /** The repository the migrated modules are committed to. */
  readonly out: string
}

const verdict = z.object({ ok: z.boolean(), reason: z.string().nullable() })

/** Reads only: source in, source out. Recorded, so that an attempt that goes on after a kill works with the same text. */
export const transform = defineTool({
  name: 'module.transform', version: '1', description: 'Turn one CommonJS module into an ES module',
  effect: 'read', inputSchema: z.object({ path: z.string(), source: z.string() }),
  outputSchema: z.object({ source: z.string().nullable(), refused: z.string().nullable() }),
  async execute({ path, source }) {
    const made = transformModule(path, source)
    return await Promise.resolve('refused' in made ? { source: null, refused: made.refused } : { source: made.source, refused: null })
  },
})

/** Imports the written file and compares its export's behaviour with the original's on fixed inputs. Reads only. */
export const checkTool = (folders: Folders) => defineTool({
  name: 'module.check', version: '1', description: 'Compare a migrated module with its original',
  effect: 'read', inputSchema: z.object({ path: z.string() }), outputSchema: verdict,
  async execute({ path }) {
    const found = await checkModule({ outFolder: folders.out, originalFolder: folders.original, path })
    return found.ok ? { ok: true, reason: null } : { ok: false, reason: found.reason }
  },
})

export const loadTool = (folders: Folders) => defineTool({
  name: 'library.load', version: '1', description: 'Load every migrated module without shims and look for left-over CommonJS',
  effect: 'read', timeout: '60s', inputSchema: z.object({ done: z.array(z.string()) }),
  outputSchema: z.object({ loaded: z.number(), failed: z.array(z.object({ path: z.string(), reason: z.string() })), wrappers: z.array(z.string()), left: z.array(z.string()) }),
  async execute({ done }) {
    const found = await proveLoads(folders.out, done)
    return { ...found, failed: [...found.failed], wrappers: [...found.wrappers], left: [...found.left] }
  },
})
