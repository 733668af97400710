/** What a case gets in `npm test`: databases of its own on the run's Postgres, gone when the file is done. */
import { afterAll } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../../../../tests/setup/fixtures.ts'
import type { CaseServices } from './literal-case.ts'

/** Call it at the top of a test file: it registers the hook. */
export function fastServices(): CaseServices {
  const databases: FreshDatabase[] = []
  afterAll(async () => { for (const database of databases) await database.drop() })
  return {
    seed: 1, say: () => {},
    async freshDatabase() {
      const database = await freshDatabase()
      databases.push(database)
      return database.url
    },
  }
}
