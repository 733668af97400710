/** What the dashboard wrote into the document. */
const metaOf = (selector: string): HTMLMetaElement | null => document.querySelector<HTMLMetaElement>(`meta[${selector}]`)

/** `/ops`, or empty: goes before every path. */
export const base = metaOf('name="pawl-base"')?.content ?? ''

/** Style elements that carry it are let through; browsers hide it from `getAttribute`. */
export const styleNonce = metaOf('property="csp-nonce"')?.nonce ?? ''

export const runPath = (runId: string): string => `/runs/${encodeURIComponent(runId)}`
export const itemPath = (runId: string, seq: number): string => `${runPath(runId)}/items/${seq}`
export const inboxPath = (runId?: string): string => (runId === undefined ? '/inbox' : `/inbox?run=${encodeURIComponent(runId)}`)

export function goToLogin(): void {
  const wanted = location.pathname.slice(base.length) + location.search
  location.assign(`${base}/login?next=${encodeURIComponent(wanted)}`)
}
