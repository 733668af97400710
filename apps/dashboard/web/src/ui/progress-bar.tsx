import type { Run } from '@pawl/client/http'
import { number, words } from '../words.ts'
import type { Tone } from '../theme.ts'

export const PARTS = [
  ['done', 'good', 'done'], ['compensated', 'undone', 'compensated'], ['failed', 'bad', 'failed'], ['cancelled', 'quiet', 'cancelled'],
  ['blocked', 'warn', 'blocked'], ['inProgress', 'busy', 'in_progress'], ['pending', 'rest', 'pending'],
] as const satisfies readonly (readonly [keyof Run['tally'], Tone, string])[]

/** How far a run is, in the colours of its items' states. */
export function ProgressBar({ tally }: Pick<Run, 'tally'>) {
  const shown = PARTS.filter(([name]) => tally[name] > 0)
  const label = shown.length === 0 ? 'no items' : shown.map(([name, , word]) => `${number(tally[name])} ${words(word)}`).join(', ')
  return (
    <div className="bar" role="img" aria-label={label} title={label}>
      {shown.map(([name, tone]) => <span key={name} data-tone={tone} style={{ flexGrow: tally[name] }} />)}
    </div>
  )
}
