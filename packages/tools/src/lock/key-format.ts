/**
 * How a tool's calls are named, in a form that can be compared. A function has no honest digest: its source changes with the formatter, the compiler
 * and a renamed variable, and stays the same when something it calls changes. What counts is what it makes of inputs, so the format *is* the
 * keys of two made-up inputs. The source's digest is kept beside it as a hint for people, and decides nothing.
 */
import { canonical, digest, sha256 } from '@pawl/core'
import type { AnyTool } from '../define-tool.ts'
import { sampleInput } from './sample-input.ts'

export interface KeyFormat {
  /** `place`: item and ordinal. `meaning`: what the tool's `key` says. */
  readonly by: 'place' | 'meaning'
  /** Of two made-up inputs, as canonical text; null where none could be made up or `key` refused them: then only a person sees a change. */
  readonly samples: readonly string[] | null
  /** Of the key function's source; says "look here", never "this changed". Null without one. */
  readonly source: string | null
}

export function keyFormatOf(tool: AnyTool): KeyFormat {
  const { key } = tool
  if (!key) return { by: 'place', samples: null, source: null }
  const source = sha256(key.toString()).slice(0, 16)
  const samples: string[] = []
  for (const draw of [1, 2]) {
    const input = sampleInput(tool.inputSchema, draw)
    if (input === undefined) return { by: 'meaning', samples: null, source }
    try {
      samples.push(canonical(key(input)))
    } catch {
      return { by: 'meaning', samples: null, source }
    }
  }
  return { by: 'meaning', samples, source }
}

const formats = new WeakMap<AnyTool, string>()

/** What two builds must agree on to make one call of it: effect class and key format. */
export function formatDigest(tool: AnyTool): string {
  const known = formats.get(tool)
  if (known !== undefined) return known
  const { by, samples } = keyFormatOf(tool)
  const made = digest([tool.effect, by, samples]).slice(0, 32)
  formats.set(tool, made)
  return made
}
