/**
 * Where browsers find the dashboard: its address, and the path a proxy may put before it. Behind a prefix everything works
 * whether the proxy strips it or not: requests are routed without it, links are written with it.
 */
export interface Place {
  /** `/ops`, or empty. Goes before every link. */
  readonly base: string
  /** Null: whatever host a request names. */
  readonly origin: string | null
  readonly isSecure: boolean
}

export function placeOf(publicUrl: string | undefined): Place {
  if (publicUrl === undefined) return { base: '', origin: null, isSecure: false }
  const { origin, pathname, protocol } = new URL(publicUrl)
  return { base: pathname.replace(/\/+$/, ''), origin, isSecure: protocol === 'https:' }
}

/** The request without the prefix, if it has it. */
export function withoutBase(request: Request, base: string): Request {
  const url = new URL(request.url)
  if (base === '' || !(url.pathname === base || url.pathname.startsWith(`${base}/`))) return request
  url.pathname = url.pathname.slice(base.length) || '/'
  return new Request(url, request)
}

/** Only a path of ours, percent-encoded as browsers send it: a link to the login page must not lead elsewhere afterwards. */
export const localPath = (text: string | undefined): string => (text !== undefined && /^\/(?!\/)[!-[\]-~]*$/.test(text) ? text : '/')
