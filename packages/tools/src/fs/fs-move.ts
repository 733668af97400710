/**
 * `fs.move`: gives a file another name, never over an existing one (`link` refuses that in the same step). `idempotent`
 * with a precondition: the record under the key says which content was to be moved; a repeated call finds it at the new
 * name and only finishes. Undo is the move back.
 */
import { link, lstat, rm } from 'node:fs/promises'
import { NotApplied } from '@pawl/core'
import { z } from 'zod'
import { defineTool, type Tool, type ToolDefinition } from '../define-tool.ts'
import { hash, type FsRules } from './fs-read.ts'
import { inJail, jailedPath, readRegular, type Place } from './jail.ts'
import { hashOf, idOf, recordChange } from './keyed-change.ts'

export interface MoveInput {
  readonly from: string
  readonly to: string
}

export interface MoveResult {
  readonly hash: string
}

export function fsMove(rules: FsRules): Tool<MoveInput, MoveResult> {
  const back = defineTool(moveDefinition(rules, 'fs.move-back', 'Moves a file back to where it was.'))
  return defineTool({ ...moveDefinition(rules, 'fs.move', 'Moves a file to a name that is free.'), undo: { tool: back, input: ({ input }) => ({ from: input.to, to: input.from }) } })
}

function moveDefinition({ root, maxBytes }: FsRules, name: string, description: string): ToolDefinition<MoveInput, MoveResult> {
  return {
    name,
    version: '1',
    description,
    effect: 'idempotent',
    precondition: true,
    inputSchema: z.strictObject({ from: jailedPath, to: jailedPath }).refine(({ from, to }) => from !== to, { path: ['to'], message: 'must be another name' }),
    outputSchema: z.object({ hash }),
    settleWindow: 0,
    execute: (input, context) => inJail(root, input.from, false, (from) => inJail(root, input.to, true, async (to) => {
      const here = await idOf(from)
      const { before, id } = await recordChange(root, context.key, here, await readRegular(from, maxBytes))
      if (before === null) throw new NotApplied(`there is no file "${input.from}".`)
      const [old, moved] = await Promise.all([hashAt(from), hashAt(to)])
      if (moved === before && (old === null || (await isSameFile(from, to)))) {
        if (old !== null) await rm(from.path, { force: true })
        return { hash: before }
      }
      if (old !== before || (await idOf(from)) !== id) throw new NotApplied(`"${input.from}" was changed by somebody else since this call was first made; it was left alone.`)
      if (moved !== null) throw new NotApplied(`"${input.to}" exists. Remove it first, or choose another name.`)
      context.guard()
      await link(from.path, to.path).catch((cause: unknown) => {
        throw new NotApplied(`"${input.to}" cannot be made.`, { cause })
      })
      await rm(from.path, { force: true })
      await Promise.all([from.folder.sync(), to.folder.sync()])
      return { hash: before }
    })),
  }
}

const hashAt = (place: Place): Promise<string | null> => readRegular(place).then((content) => (content ? hashOf(content) : null))

/** Two names of one file: the first call died between making the new name and removing the old one. */
async function isSameFile(a: Place, b: Place): Promise<boolean> {
  const [first, second] = await Promise.all([lstat(a.path), lstat(b.path)])
  return first.ino === second.ino && first.dev === second.dev
}
