import type { Command } from 'commander'
import { exitOf } from '../cli/exit-codes.ts'
import { addLeaf } from '../cli/leaf.ts'
import { addDatabaseOptions, type DatabaseOptions } from '../cli/place.ts'
import { many } from '../cli/plain.ts'
import { showFindings } from '../doctor/show-findings.ts'

/** `pawl doctor`: every line ok, warn or fail with its fix; exit 1 on fail. JSON: `{ ok, findings: Finding[] }`. */
export function addDoctor(parent: Command): void {
  addLeaf<DatabaseOptions>(parent, {
    usage: 'doctor', about: 'look at config, Postgres, queue and fleet; say what is wrong and how to mend it', options: addDatabaseOptions,
    async run({ options, out }) {
      const { examine } = await import('../doctor/examine.ts')
      const findings = await examine(options, out)
      const failed = findings.filter((finding) => finding.level === 'fail').length
      const warned = findings.filter((finding) => finding.level === 'warn').length
      out.emit({ ok: failed === 0, findings })
      showFindings(out, findings)
      out.line(failed + warned === 0 ? '\nAll is well.' : `\n${many(failed, 'failure')}, ${many(warned, 'warning')}.`)
      return failed === 0 ? exitOf.ok : exitOf.failed
    },
  })
}
