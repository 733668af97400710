/**
 * `fs.write`: replaces or creates a file in one step (a file kept beside, fsync, rename). `idempotent` with a precondition, see
 * `fs-tools.ts`; `verify` looks whether that file was put in place, or the content is there. Undo puts back what was there.
 */
import { lstat } from 'node:fs/promises'
import { NotApplied } from '@pawl/core'
import { z } from 'zod'
import { defineTool, type Tool } from '../define-tool.ts'
import { applied, unknown } from '../verdict.ts'
import { encoding, hash, type FsRules } from './fs-read.ts'
import type { RestoreInput, RestoreResult } from './fs-restore.ts'
import { inJail, jailedPath, readRegular } from './jail.ts'
import { hashOf, idOf, isInPlace, putInPlace, readChange, recordChange } from './keyed-change.ts'

export interface WriteInput {
  readonly path: string
  readonly content: string
  readonly encoding?: 'utf8' | 'base64' | undefined
  /** Write only if the file has this hash; null: only if there is none. */
  readonly ifHash?: string | null | undefined
}

export interface WriteResult {
  readonly bytes: number
  readonly hash: string
  /** Hash of what was there before, null where there was no file. Its content is kept for undo. */
  readonly before: string | null
}

export function fsWrite({ root, maxBytes }: FsRules, restore: Tool<RestoreInput, RestoreResult>): Tool<WriteInput, WriteResult> {
  return defineTool<WriteInput, WriteResult>({
    name: 'fs.write',
    version: '1',
    description: 'Writes a whole file, creating it and its folders where they are missing.',
    effect: 'idempotent',
    precondition: true,
    inputSchema: z.strictObject({
      path: jailedPath,
      content: z.string(),
      encoding: encoding.optional(),
      ifHash: hash.nullable().optional(),
    }).refine((input) => bytesOf(input).length <= maxBytes, { path: ['content'], message: `at most ${maxBytes} bytes` }),
    outputSchema: z.object({ bytes: z.int(), hash, before: hash.nullable() }),
    settleWindow: 0,
    async execute(input, context) {
      const content = bytesOf(input)
      const wanted = hashOf(content)
      return inJail(root, input.path, true, async (place) => {
        const current = () => readRegular(place).then((found) => (found ? hashOf(found) : null))
        const id = await idOf(place)
        const mode = await lstat(place.path).then((file) => file.mode & 0o777, () => 0o666)
        const found = await readRegular(place)
        // Nothing is recorded of a call that finds something else: mended by hand, it may be made again.
        if (!(await readChange(root, context.key))) assertHash(input, found ? hashOf(found) : null)
        const change = await recordChange(root, context.key, id, found, { content, mode })
        const { before } = change
        const result = { bytes: content.length, hash: wanted, before }
        if (await isInPlace(root, change)) return result
        const now = await current()
        assertHash(input, before)
        if (now === wanted) return result
        await putInPlace(root, change, place, async () => {
          const last = await current()
          // The same call, made twice at once: its twin was first.
          if (last === wanted) return 'done'
          if (last !== before || (await idOf(place)) !== change.id) throw new NotApplied(`"${input.path}" was changed by somebody else since this call was first made; nothing was written.`)
          context.guard()
          return 'go'
        })
        return result
      })
    },
    async verify(input, context) {
      const content = bytesOf(input)
      const change = await readChange(root, context.key)
      const now = await inJail(root, input.path, false, (place) => readRegular(place)).catch(() => undefined)
      const isThere = now !== undefined && hashOf(now) === hashOf(content)
      if (!isThere && !(change && (await isInPlace(root, change)))) return unknown('the file has another content: never written, or changed since')
      return applied({ bytes: content.length, hash: hashOf(content), before: change ? change.before : hashOf(content) })
    },
    undo: { tool: restore, input: ({ input, result }) => ({ path: input.path, ifHash: result.hash, content: result.before }) },
  })
}

const bytesOf = ({ content, encoding: as }: WriteInput): Buffer => Buffer.from(content, as ?? 'utf8')

function assertHash({ path, ifHash }: WriteInput, found: string | null): void {
  if (ifHash !== undefined && ifHash !== found) throw new NotApplied(`"${path}" is not what ifHash says. Read it again.`)
}
