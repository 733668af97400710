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
import { hashOf, idOf, isInPlace, putInPlace, readChange, readKept, recordChange } from './keyed-change.ts'

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
        const look = async () => {
          const id = await idOf(place)
          const found = await readRegular(place)
          return { id, found, now: found ? hashOf(found) : null }
        }
        const changed = () => new NotApplied(`"${input.path}" was changed since; it was left as it is. Restore it by hand, or abandon this undo.`)
        const done = { hash: input.content }
        const known = await readChange(root, context.key)
        if (known && (await isInPlace(root, known))) return done
        const { id, found, now } = await look()
        if (now === input.content) return done
        // Nothing is recorded of a call that finds something else: mended by hand, it may be made again.
        if (!known && now !== input.ifHash) throw changed()
        const change = await recordChange(root, context.key, id, found, input.content === null ? undefined : { content: await readKept(root, input.content), mode: 0o666 })
        const check = async () => {
          const last = await look()
          if (last.now === input.content) return 'done'
          if (last.now !== input.ifHash || last.id !== change.id) throw changed()
          context.guard()
          return 'go'
        }
        if (input.content !== null) await putInPlace(root, change, place, check)
        else if ((await check()) === 'go') await rm(place.path, { force: true })
        await place.folder.sync()
        return done
      })
    },
  })
}
