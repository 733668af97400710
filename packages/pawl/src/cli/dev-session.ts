/** Where a running `pawl dev` says what it opened, so that the other commands find it from the same folder. Readable by its owner only: it holds the password. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'

const session = z.object({ pid: z.number().int(), databaseUrl: z.string() })
export type DevSession = z.infer<typeof session>

/** `PAWL_DATA_DIR`, or `.pawl` here; dev's Postgres lies in `dev` below it. */
export const devFolder = (): string => join(resolve(process.env['PAWL_DATA_DIR'] || '.pawl'), 'dev')
const sessionFile = (): string => `${devFolder()}.json`

/** Undefined when none runs: a file whose writer is dead says nothing. */
export function readDevSession(): DevSession | undefined {
  try {
    const found = session.parse(JSON.parse(readFileSync(sessionFile(), 'utf8')))
    process.kill(found.pid, 0)
    return found
  } catch {
    return undefined
  }
}

export function writeDevSession(databaseUrl: string): void {
  const file = sessionFile()
  const draft = `${file}.${process.pid}`
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(draft, JSON.stringify({ pid: process.pid, databaseUrl }), { mode: 0o600 })
  renameSync(draft, file)
}

export const removeDevSession = (): void => rmSync(sessionFile(), { force: true })
