import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { freshDatabase, type FreshDatabase } from '../../../tests/setup/fixtures.ts'
import { VirtualWorkers } from '../../testing/src/virtual-workers.ts'
import { defineAgent } from './define-agent.ts'

let open: () => void = () => {}
const gate = new Promise<void>((resolve) => { open = resolve })

const agent = defineAgent({
  name: 'shown', version: '1', inputSchema: z.object({ items: z.number() }), payloadSchema: z.null(), tools: {},
  *split({ items }) { for (let n = 0; n < items; n++) yield { key: `i${n}`, payload: null } },
  async run() { await gate },
})

let database: FreshDatabase
let workers: VirtualWorkers
beforeAll(async () => {
  database = await freshDatabase()
  workers = await VirtualWorkers.open({ url: database.url, agents: [agent], workers: 1 })
})
afterAll(async () => {
  await workers.close()
  await database.drop()
})

test('a run is one job on the board, its progress the items done of all, completed when the run has ended', async () => {
  const runId = await workers.startRun(agent, { items: 3 })
  const shown = async (state: 'delayed' | 'completed'): Promise<unknown> => {
    const name = (await workers.queue.names()).find((one) => one.name.endsWith('-runs'))?.name
    if (name === undefined) return undefined
    const jobs = await workers.queue.boardQueue(name).getJobs([state])
    return jobs.filter((job) => job !== undefined && JSON.stringify([job.id, job.data]).includes(runId)).map((job) => job.progress)
  }
  await expect.poll(() => shown('delayed'), { timeout: 25_000 }).toEqual([{ done: 0, failed: 0, blocked: 0, total: 3 }])
  open()
  await expect.poll(() => shown('completed'), { timeout: 25_000 }).toEqual([{ done: 3, failed: 0, blocked: 0, total: 3 }])
})
