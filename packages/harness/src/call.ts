import type { AnyTool } from '@pawl/tools'

/** A call whose input was checked and whose key is drawn. */
export interface Call {
  readonly tool: AnyTool
  readonly input: unknown
  readonly args: string
  readonly argsDigest: string
  readonly key: string
  readonly undoes: number | null
  /** The model's turn that decided it. */
  readonly turn?: number
}
