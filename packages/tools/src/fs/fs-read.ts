/** `fs.read`: a file's content as text, or as base64 where it is not valid UTF-8 or where that is asked for. `read`: it changes nothing. */
import { NotApplied } from '@pawl/core'
import { z } from 'zod'
import { defineTool, type Tool } from '../define-tool.ts'
import { inJail, jailedPath, readRegular } from './jail.ts'
import { hashOf } from './keyed-change.ts'

export interface FsRules {
  readonly root: string
  readonly maxBytes: number
}

export interface ReadInput {
  readonly path: string
  readonly encoding?: 'utf8' | 'base64' | undefined
}

export interface ReadResult {
  readonly content: string
  readonly encoding: 'utf8' | 'base64'
  readonly bytes: number
  /** SHA-256 of the bytes: the `ifHash` of a later write. */
  readonly hash: string
}

export const encoding = z.enum(['utf8', 'base64'])
export const hash = z.string().regex(/^[0-9a-f]{64}$/, 'a SHA-256 in lower-case hex, as fs.read returns it')

export function fsRead({ root, maxBytes }: FsRules): Tool<ReadInput, ReadResult> {
  return defineTool<ReadInput, ReadResult>({
    name: 'fs.read',
    version: '1',
    description: 'Reads a file: its content as text (or base64), its size and its SHA-256.',
    effect: 'read',
    inputSchema: z.strictObject({ path: jailedPath, encoding: encoding.optional() }),
    outputSchema: z.object({ content: z.string(), encoding, bytes: z.int(), hash }),
    async execute(input) {
      return inJail(root, input.path, false, async (place) => {
        const content = await readRegular(place, maxBytes)
        if (!content) throw new NotApplied(`there is no file "${input.path}".`)
        const text = input.encoding === 'base64' ? undefined : asText(content)
        const facts = { bytes: content.length, hash: hashOf(content) }
        return text === undefined ? { content: content.toString('base64'), encoding: 'base64', ...facts } : { content: text, encoding: 'utf8', ...facts }
      })
    },
  })
}

function asText(content: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    return undefined
  }
}
