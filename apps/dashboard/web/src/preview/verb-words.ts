/** What a person may ask of a run, in words. */
import type { RunVerb } from './run-verbs.ts'

interface Words {
  readonly title: string
  readonly sentence: string
  readonly button: string
  readonly isEnding: boolean
}

export const verbWords: Readonly<Record<RunVerb, Words>> = {
  pause: { title: 'Pause this run?', button: 'Pause the run', isEnding: false, sentence: 'The run stops at its next call boundaries: calls under way run to their end and are recorded, nothing new is begun. Resume lets it go on.' },
  resume: { title: 'Resume this run?', button: 'Resume the run', isEnding: false, sentence: 'The run goes on. What is committed is never repeated.' },
  cancel: { title: 'Cancel this run?', button: 'Cancel the run', isEnding: true, sentence: 'The run ends now. What it did stays done; calls under way are settled after the fact, and nothing is sent to find out.' },
  compensate: { title: 'Compensate this run?', button: 'Compensate the run', isEnding: true, sentence: 'What the run did is undone, newest first. This cannot be called back; what has no inverse stands and is listed as residue.' },
}
