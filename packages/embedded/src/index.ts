/** A real Postgres from npm for laptops and tests: one folder, one server, one owner. */
export { startEmbedded, stopEmbedded, type Embedded } from './start.ts'
