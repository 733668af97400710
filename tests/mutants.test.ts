/** A mutant that fits the code no more shows nothing: each edit's text is there exactly once, and the claim that has to go red exists. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'

const root = new URL('..', import.meta.url).pathname
const mutantsOf = z.array(z.object({
  name: z.string(), edits: z.array(z.object({ file: z.string(), find: z.string(), replace: z.string() })).min(1), test: z.object({ file: z.string(), claim: z.string() }),
})).min(40)
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
/** With the suites it plays, and those they play. */
function readTests(file: string): string {
  const text = read(file)
  return [text, ...[...text.matchAll(/from '(\.[^']*\.testsuite\.ts)'/g)].map(([, suite]) => readTests(join(dirname(file), suite ?? '')))].join('\n')
}

test('every mutant fits the code it changes, and names a claim that exists', async () => {
  const { mutants } = (await import(join(root, 'scripts/mutants/list.mjs'))) as { mutants: unknown }
  const unfit: string[] = []
  for (const { name, edits, test: { file, claim } } of mutantsOf.parse(mutants)) {
    for (const edit of edits) if (read(edit.file).split(edit.find).length !== 2) unfit.push(`${name}: ${edit.file} has not exactly once: ${edit.find}`)
    if (!readTests(file).includes(claim)) unfit.push(`${name}: ${file} has no claim "${claim}"`)
  }
  expect(unfit).toEqual([])
})
