/**
 * `fs.restore`: puts a kept content back, or removes the file where there was none. The inverse of `fs.write` and
 * `fs.remove`. Acts only if the file still is what the undone call left (`ifHash`): anybody's later change stays, and a
 * person decides. With that precondition it may be repeated at once: `idempotent`.
 */
import { rm } from 'node:fs/promises'
import { NotApplied } from '@pawl/core'
import { z } from 'zod'
import { defineTool, type Tool } from '../define-tool.ts'
import { hash, type FsRules } from './fs-read.ts'
import { inJail, jailedPath, readRegular } from './jail.ts'
import { hashOf, readKept, replaceAtomically } from './keyed-change.ts'

export interface RestoreInput {
  readonly path: string
  /** What must be there now; null: nothing. */
  readonly ifHash: string | null
  /** Hash of the kept content to put back; null: remove the file. */
  readonly content: string | null
}

export interface RestoreResult {
  readonly hash: string | null
}

export function fsRestore({ root }: FsRules): Tool<RestoreInput, RestoreResult> {
  return defineTool<RestoreInput, RestoreResult>({
    name: 'fs.restore',
    version: '1',
    description: 'Puts a file back to what it was before a write or a removal.',
    effect: 'idempotent',
    precondition: true,
    inputSchema: z.strictObject({ path: jailedPath, ifHash: hash.nullable(), content: hash.nullable() }),
    outputSchema: z.object({ hash: hash.nullable() }),
    settleWindow: 0,
    async execute(input, context) {
      return inJail(root, input.path, input.content !== null, async (place) => {
        const check = async () => {
          const found = await readRegular(place)
          const now = found ? hashOf(found) : null
          if (now !== input.content && now !== input.ifHash) throw new NotApplied(`"${input.path}" was changed since; it was left as it is. Restore it by hand, or abandon this undo.`)
          context.guard()
          return now
        }
        if ((await check()) === input.content) return { hash: input.content }
        if (input.content === null) await rm(place.path, { force: true })
        else await replaceAtomically(place, await readKept(root, input.content), 0o666, async () => ((await check()) === input.content ? 'done' : 'go'))
        await place.folder.sync()
        return { hash: input.content }
      })
    },
  })
}
