/** What the tier tells its worker processes, and where both of them keep what they share. */
import { join } from 'node:path'
import { z } from 'zod'

export const chaosPlace = z.object({
  seed: z.number(),
  effectsUrl: z.string(),
  /** Holds the tally, and a file per run that was resumed. */
  folder: z.string(),
})
export type ChaosPlace = z.infer<typeof chaosPlace>

export const tallyFile = (folder: string): string => join(folder, 'tally')
export const resumedFile = (folder: string, n: number): string => join(folder, `resumed-${n}`)
/** Left by a process before it stands still in the known hole. */
export const standingFile = (folder: string, subject: string): string => join(folder, `standing-${subject}.json`)
