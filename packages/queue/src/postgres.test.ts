import { createPostgresBackend, Queue, type BackendFactory, type IQueueBackend } from 'bullmq'
import pg from 'pg'
import { freshDatabase } from '../../../tests/setup/fixtures.ts'
import { queueContract } from './queue.testsuite.ts'

queueContract({
  backend: 'postgres',
  async prepare() {
    const database = await freshDatabase()
    return { url: database.url, leave: () => database.drop() }
  },
  async empty(url) {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query('drop schema if exists pawl_queue cascade')
    await client.end()
  },
  look(url, _ledgerId, name) {
    const factory: BackendFactory<IQueueBackend> = (queue, options, how) =>
      createPostgresBackend(queue, { ...options, connection: { connectionString: url, schema: 'pawl_queue', max: 2 } }, how)
    return new Queue(name, { connection: {} }, factory)
  },
})
