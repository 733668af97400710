/** What every `PawlClient` does, direct or over HTTP: one suite, verb by verb. */
import { beforeAll, describe, expect, test } from 'vitest'
import { testApprovals } from './suite/approvals.testsuite.ts'
import type { Opened } from './suite/ground.testsuite.ts'
import { testBulk } from './suite/bulk.testsuite.ts'
import { testInbox } from './suite/inbox.testsuite.ts'
import { testLists } from './suite/lists.testsuite.ts'
import { testLooks } from './suite/looks.testsuite.ts'
import { testQuestions } from './suite/questions.testsuite.ts'
import { testStarts } from './suite/starts.testsuite.ts'
import { testVerbs } from './suite/verbs.testsuite.ts'

export function describeClient(name: string, open: () => Promise<Opened>): void {
  describe(name, () => {
    let opened: Opened | undefined
    beforeAll(async () => { opened = await open() })
    const opening = (): Opened => {
      if (opened === undefined) throw new Error('the suite was not opened')
      return opened
    }

    testStarts(opening)
    testLists(opening)
    testLooks(opening)
    testVerbs(opening)
    testBulk(opening)
    testInbox(opening)
    testApprovals(opening)
    testQuestions(opening)

    // The last one: it looks at what all the others wrote.
    test('whatever was written, and by whom, a jsonb column holds an object or a list, never a text (case 60)', async () => {
      const columns = await opening().ledger.query<{ name: string; column: string }>(`select table_name as name, column_name as column from information_schema.columns where table_schema = 'pawl' and data_type = 'jsonb'`)
      expect(columns.length).toBeGreaterThan(3)
      for (const { name, column } of columns) {
        const types = (await opening().ledger.query<{ type: string | null }>(`select distinct jsonb_typeof("${column}") as type from pawl."${name}"`)).map((row) => row.type)
        expect([name, column, types.filter((type) => type !== null && type !== 'object' && type !== 'array')]).toEqual([name, column, []])
      }
    })
  })
}
