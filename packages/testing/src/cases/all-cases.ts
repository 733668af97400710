/** Every case with a literal form, one line each, in the order of docs/cases.md. */
import type { LiteralCase } from './literal-case.ts'

export const allCases: readonly LiteralCase[] = [
]
