import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineAgent } from 'pawl'
import { fsTools } from 'pawl/tools/fs'
import { gitTools } from 'pawl/tools/git'
import { z } from 'zod'
import { isShim, shimSource } from './shim.ts'
import { checkTool, loadTool, transform, type Folders } from './tools.ts'

/** What the check or the transform said: the item fails with it, and the module keeps its shim. */
class NotFaithful extends Error {
  override readonly name = 'NotFaithful'
}

/**
 * Migrates the CommonJS modules of a package to ES modules, one item each: read, transform, write, check, commit.
 * The result of an item is its commit. What cannot be migrated faithfully fails with its reason and keeps a shim.
 */
export const migrationAgent = (folders: Folders) => defineAgent({
  name: 'migration', version: '1',
  inputSchema: z.object({ modules: z.array(z.string()) }),
  payloadSchema: z.object({ path: z.string() }),
  tools: {
    read: fsTools({ root: folders.original }).read,
    transform,
    write: fsTools({ root: folders.out }).write,
    check: checkTool(folders),
    commit: gitTools({ repo: folders.out }).commit,
    load: loadTool(folders),
  },
  *split({ modules }) { for (const path of modules) yield { key: path, payload: { path } } },
  async run({ payload: { path }, tools }) {
    const { content } = await tools.read({ path })
    const { source, refused } = await tools.transform({ path, source: content })
    if (source === null) throw new NotFaithful(refused ?? `${path} was refused`)
    await tools.write({ path, content: source })
    const verdict = await tools.check({ path })
    if (!verdict.ok) {
      await tools.write({ path, content: shimSource(path, folders.original) })
      throw new NotFaithful(verdict.reason ?? `${path} differs`)
    }
    const { commit } = await tools.commit({ paths: [path], message: `Migrate ${path} to an ES module` })
    return { resultRef: commit }
  },
  async finalize({ tools }) {
    const done = readdirSync(folders.out).filter((path) => path.endsWith('.js') && !isShim(readFileSync(join(folders.out, path), 'utf8'))).toSorted()
    const { loaded, failed, wrappers } = await tools.load({ done })
    if (failed.length > 0 || wrappers.length > 0) throw new Error(`${failed.length} migrated modules do not load, ${wrappers.length} are wrappers: ${[...failed.map((one) => one.path), ...wrappers].slice(0, 5).join(', ')}`)
    return { result: { loaded } }
  },
  // A module that is not faithful once is not faithful twice; the second failure is for a disk or a git that was not there.
  policy: { onFailure: 'complete', maxFailures: 2 },
})
