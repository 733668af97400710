/** `--embedded FOLDER`: a ledger whose Postgres is not running, as a demo leaves it: started for this command, stopped after it. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { PawlError } from '@pawl/core'
import type { Embedded } from '@pawl/embedded'

const opened: Embedded[] = []

/** Refuses a folder that holds none: a typing error must not make an empty ledger that audits clean. */
export async function openEmbedded(folder: string): Promise<string> {
  const path = resolve(folder)
  if (!existsSync(join(path, 'pg', 'data')) && !existsSync(join(path, 'moved-to'))) {
    throw new PawlError('NO_EMBEDDED', `There is no embedded Postgres in ${path}. A demo leaves its own in .pawl/demo-NAME/1/postgres, "pawl dev" in .pawl/dev.`)
  }
  const { startEmbedded } = await import('@pawl/embedded')
  const embedded = await startEmbedded({ folder: path })
  opened.push(embedded)
  return embedded.url
}

export async function closeEmbedded(): Promise<void> {
  await Promise.all(opened.splice(0).map((embedded) => embedded.release()))
}
