/** Turns what a tool returned into what the ledger keeps, before the agent gets it: later changes to the object cannot reach the journal. Pure. */
import { decode, encode, limits, PawlError } from '@pawl/core'
import type { AnyTool } from '@pawl/tools'

export type Kept =
  | { readonly kind: 'kept'; readonly text: string; readonly value: unknown; readonly undo: string | null }
  /** The call happened; its value cannot be kept. Committed with a marker, and a person looks. */
  | { readonly kind: 'unkept'; readonly text: string; readonly why: string; readonly undo: string | null }
  /** Not what the tool promised: evidence of an unsettled call, never a failure. */
  | { readonly kind: 'misfit'; readonly why: string }

export function keepResult(tool: AnyTool, input: unknown, value: unknown): Kept {
  const parsed = tool.outputSchema.safeParse(value)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    return { kind: 'misfit', why: `the result does not fit outputSchema at "${issue?.path.join('.') ?? ''}": ${issue?.message ?? 'unknown'}` }
  }
  const undo = undoOf(tool, input, parsed.data)
  try {
    const text = encode(parsed.data, { what: 'result', maxBytes: limits.resultBytes })
    return { kind: 'kept', text, value: decode(text), undo }
  } catch (error) {
    if (!(error instanceof PawlError)) throw error
    return { kind: 'unkept', text: `${unkeptMark},${JSON.stringify({ code: error.code, ...error.details }).slice(1)}`, why: error.message, undo }
  }
}

const unkeptMark = '{"$pawl":"unkept"'

/** A recorded result that only says that there was one. */
export const isUnkept = (result: string | null): boolean => result?.startsWith(unkeptMark) ?? false

/** The inverse as data, `{ tool, version, input }`, or null where there is none or it cannot be built from what is known. */
export function undoOf(tool: AnyTool, input: unknown, result: unknown): string | null {
  if (!tool.undo) return null
  try {
    return encode({ tool: tool.undo.tool.name, version: tool.undo.tool.version, input: tool.undo.input({ input, result }) }, { what: 'undo', maxBytes: limits.argsBytes })
  } catch {
    return null
  }
}
