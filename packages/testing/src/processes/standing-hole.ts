/** Plays the known hole on a stage: waits until the successor has sent, and wakes who stood still. */
import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { beginRun } from '../chaos/begin-run.ts'
import { standingFile } from './chaos-place.ts'
import type { Stage } from './stage.ts'
import { standingHoleAgent } from './standing-hole-agent.ts'
import { signalWorker } from './worker-fleet.ts'

const standing = z.object({ id: z.string(), pid: z.number() })
const subject = 'hole-0'
const longestMs = 90_000
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** How often the effect was doubled, on a stage whose fleet is running and is not struck otherwise. 0: the danger did not occur. */
export async function forceKnownHole(stage: Stage): Promise<number> {
  const agent = standingHoleAgent({ effectsUrl: stage.effects.url, folder: stage.folder })
  const received = (): number => stage.effects.receipts().filter((receipt) => receipt.subject === subject && receipt.applied).length
  stage.touch(await beginRun(stage.ledger, agent, { subject }, [{ key: 'only', payload: null }], {}, () => {}))
  const until = Date.now() + longestMs
  while (received() === 0 && Date.now() < until) await pause(100)
  const file = standingFile(stage.folder, subject)
  if (existsSync(file)) signalWorker(standing.parse(JSON.parse(readFileSync(file, 'utf8'))), 'SIGCONT')
  while (received() < 2 && Date.now() < until) await pause(100)
  return Math.max(0, received() - 1)
}
