/** Findings for people: one line each, the way out below it. */
import colors from 'picocolors'
import type { Output } from '../cli/output.ts'
import { plainLines } from '../cli/plain.ts'
import { paintStatus } from '../cli/status.ts'
import type { Finding } from './finding.ts'

export function showFindings(out: Output, findings: readonly Finding[]): void {
  for (const { level, check, sentence, fix } of findings) {
    out.line(`${paintStatus(level.padEnd(4))}  ${colors.bold(check.padEnd(17))}  ${plainLines(sentence)}`)
    if (fix !== undefined) out.line(`${' '.repeat(25)}${colors.cyan(`→ ${plainLines(fix)}`)}`)
  }
}
