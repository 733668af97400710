/** What a call of `http.request` may ask for, checked before its intent is written: host, scheme, address literals, headers. */
import { isIP } from 'node:net'
import { z } from 'zod'
import { hostAndPort, isPublicAddress } from './address-policy.ts'

export interface HttpInput {
  readonly url: string
  readonly query?: Readonly<Record<string, string>> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** A JSON value. A string with a `content-type` of its own is sent as it is. */
  readonly body?: unknown
}

/** The only headers a call may set. Credentials, host and framing come from configuration or from Pawl. */
const argumentHeaders = new Set(['accept', 'accept-language', 'content-type', 'if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'prefer'])

export interface HttpInputRules {
  /** `api.example.com`, or `*.example.com` for its subdomains. Undefined: any public host. */
  readonly allowHosts: readonly string[] | undefined
  readonly allowPrivate: ReadonlySet<string>
}

export function httpInputSchema(rules: HttpInputRules, hasBody: boolean): z.ZodType<HttpInput> {
  const url = z.string().superRefine((text, issue) => {
    const problem = urlProblem(text, rules)
    if (problem) issue.addIssue({ code: 'custom', message: problem })
  })
  const headers = z.record(z.string(), z.string()).superRefine((record, issue) => {
    for (const name of Object.keys(record)) {
      if (!argumentHeaders.has(name.toLowerCase())) {
        issue.addIssue({ code: 'custom', message: `header "${name}" cannot be set by a call. Set it in the tool's headers option; calls may set ${[...argumentHeaders].join(', ')}.` })
      }
    }
  })
  const common = { url, query: z.record(z.string(), z.string()).optional(), headers: headers.optional() }
  return hasBody ? z.strictObject({ ...common, body: z.unknown().optional() }) : z.strictObject(common)
}

/** Why this URL may not be called, or undefined. Names that resolve inside are caught when connecting. */
export function urlProblem(text: string, rules: HttpInputRules): string | undefined {
  if (!URL.canParse(text)) return `"${text}" is not an absolute URL.`
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return `${url.protocol}// is not allowed. Use https:// or http://.`
  if (url.username || url.password) return 'credentials in the URL would be kept in the ledger. Use the tool’s headers option.'
  if (rules.allowHosts && !rules.allowHosts.some((allowed) => matchesHost(url.hostname, allowed))) {
    return `host ${url.hostname} is not in allowHosts (${rules.allowHosts.join(', ')}).`
  }
  const literal = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(literal) && !isPublicAddress(literal) && !rules.allowPrivate.has(hostAndPort(url))) {
    return `${literal} is not a public address. If this service is meant, name "${hostAndPort(url)}" in allowPrivate.`
  }
  return undefined
}

function matchesHost(hostname: string, allowed: string): boolean {
  return allowed.startsWith('*.') ? hostname.endsWith(allowed.slice(1)) : hostname === allowed
}

export function requestUrl(input: HttpInput): URL {
  const url = new URL(input.url)
  for (const [name, value] of Object.entries(input.query ?? {})) url.searchParams.append(name, value)
  url.hash = ''
  return url
}

/** Body and content type as they go on the wire. */
export function requestBody(input: HttpInput): { body?: string; contentType?: string } {
  if (input.body === undefined) return {}
  const own = Object.entries(input.headers ?? {}).find(([name]) => name.toLowerCase() === 'content-type')?.[1]
  if (typeof input.body === 'string' && own && !own.includes('json')) return { body: input.body, contentType: own }
  return { body: JSON.stringify(input.body), contentType: own ?? 'application/json' }
}
