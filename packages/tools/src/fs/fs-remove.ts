/**
 * `fs.remove`: removes a file, keeping its content for undo. `idempotent` with a precondition (see `fs-tools.ts`): a
 * repeated call removes only what the first call found, never a successor of the same name.
 */
import { rm } from 'node:fs/promises'
import { NotApplied } from '@pawl/core'
import { z } from 'zod'
import { defineTool, type Tool } from '../define-tool.ts'
import { hash, type FsRules } from './fs-read.ts'
import type { RestoreInput, RestoreResult } from './fs-restore.ts'
import { inJail, jailedPath, readRegular } from './jail.ts'
import { hashOf, idOf, recordChange } from './keyed-change.ts'

export interface RemoveInput {
  readonly path: string
  /** Remove only if the file has this hash. */
  readonly ifHash?: string | undefined
}

export interface RemoveResult {
  /** Hash of the removed content, null where there was no file. */
  readonly before: string | null
}

export function fsRemove({ root, maxBytes }: FsRules, restore: Tool<RestoreInput, RestoreResult>): Tool<RemoveInput, RemoveResult> {
  return defineTool<RemoveInput, RemoveResult>({
    name: 'fs.remove',
    version: '1',
    description: 'Removes a file. Its content is kept, so that it can be restored.',
    effect: 'idempotent',
    precondition: true,
    inputSchema: z.strictObject({ path: jailedPath, ifHash: hash.optional() }),
    outputSchema: z.object({ before: hash.nullable() }),
    settleWindow: 0,
    async execute(input, context) {
      return inJail(root, input.path, false, async (place) => {
        const here = await idOf(place)
        const { before, id } = await recordChange(root, context.key, here, await readRegular(place, maxBytes))
        if (input.ifHash !== undefined && input.ifHash !== before) throw new NotApplied(`"${input.path}" is not what ifHash says. Read it again.`)
        const found = await readRegular(place)
        if (!found) return { before }
        if (hashOf(found) !== before || (await idOf(place)) !== id) throw new NotApplied(`"${input.path}" was changed by somebody else since this call was first made; it was left alone.`)
        context.guard()
        await rm(place.path, { force: true })
        await place.folder.sync()
        return { before }
      })
    },
    undo: { tool: restore, input: ({ input, result }) => ({ path: input.path, ifHash: null, content: result.before }) },
  })
}
