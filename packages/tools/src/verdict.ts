/** What `verify` found out about one earlier send. */
export type Verdict<R> =
  | { readonly verdict: 'applied'; readonly result: R }
  | { readonly verdict: 'notApplied' }
  | { readonly verdict: 'unknown'; readonly reason?: string }

/** It happened, and this is what the call would have returned. */
export const applied = <R>(result: R): Verdict<R> => ({ verdict: 'applied', result })
/** It did not happen, and no late copy of the request can still make it happen once the wait is over. Pawl sends again. */
export const notApplied = (): Verdict<never> => ({ verdict: 'notApplied' })
/** Cannot tell now. Asked again with backoff, then a person decides. */
export const unknown = (reason?: string): Verdict<never> => (reason === undefined ? { verdict: 'unknown' } : { verdict: 'unknown', reason })
