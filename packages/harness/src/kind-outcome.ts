import type { ItemOutcome } from './define-agent.ts'

/** What an item's kind came to. */
export type KindOutcome =
  | { readonly kind: 'done'; readonly outcome?: ItemOutcome | undefined }
  /** The ledger has it already, the run's transition included. */
  | { readonly kind: 'closed' }
  /** The attempt was parked; its ending says why. */
  | { readonly kind: 'parked' }
