/** One column of the failpoint matrix, in real processes that kill themselves; the other columns are `npm run chaos -- --tier processes`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../../../../tests/setup/fixtures.ts'
import { cellsOf, nameOf, runMatrix, type MatrixReport } from './matrix.ts'
import type { Stage } from './stage.ts'

/** What happens to an undo is another column. */
const cells = cellsOf('keyed').filter((cell) => cell.kind !== 'compensate')

describe('a worker process that dies, stands still or loses an answer while it makes a keyed call', () => {
  let database: FreshDatabase
  let stage: Stage | undefined
  let report: MatrixReport | undefined

  beforeAll(async () => {
    database = await freshDatabase()
    const played = await runMatrix({ url: database.url, queue: { backend: 'postgres', url: database.url }, seed: 1, processes: 3, deadlineMs: 100_000 }, cells)
    stage = played.stage
    report = played.report
  }, 150_000)
  afterAll(async () => {
    await stage?.close()
    await database.drop()
  })

  for (const cell of cells) {
    test(`${nameOf(cell)}: the run goes to its end, and its one effect is one`, () => expect(report?.outcomes.find((one) => nameOf(one.cell) === nameOf(cell))?.problems).toEqual([]))
  }

  test('nobody was asked anything, and nothing was blocked that no crash may block', () => {
    expect(report).toMatchObject({ needless: [], contradictions: [] })
  })
})
