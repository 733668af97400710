/** Virtual workers: a whole fleet in one process, on an embedded Postgres of its own, with the Postgres queue. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '@pawl/embedded'
import { Ledger } from '@pawl/ledger'
import { runChaos } from './run-chaos.ts'
import { playShards } from './shards.ts'
import type { ChaosReport } from './tally.ts'
import type { TierRequest } from './tiers.ts'

export async function virtualTier(request: TierRequest): Promise<ChaosReport> {
  const shards = request.shards ?? availableParallelism()
  return shards > 1 ? await playShards(request, shards) : await playHere(request)
}

async function playHere(request: TierRequest): Promise<ChaosReport> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-chaos-'))
  // Postgres runs as another user where we are root, and has to pass through.
  chmodSync(folder, 0o711)
  const postgres = await startEmbedded({ folder: join(folder, 'postgres') })
  try {
    await forgoFsync(postgres.url)
    return await runChaos({ ...request, url: postgres.url })
  } finally {
    await postgres.release()
    for (const path of [postgres.folder, folder]) rmSync(path, { recursive: true, force: true })
  }
}

/** Backends are killed in this tier, the machine is not: what a commit costs on disk proves nothing here. */
async function forgoFsync(url: string): Promise<void> {
  const ledger = new Ledger({ url, connections: 1 })
  await ledger.query('alter system set fsync = off')
  await ledger.query('select pg_reload_conf()')
  await ledger.close()
}
