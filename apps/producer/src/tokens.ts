/**
 * Who may call. A token is known by its SHA-256 only; its name is the actor in every event, its namespace bounds what it sees. What stands before people
 * of its own (the dashboard) has the scope `delegate` and says with each request who asks; nobody else is taken at their word.
 */
import { PawlError } from '@pawl/core'
import { createHash, timingSafeEqual } from 'node:crypto'

export const SCOPES = ['read', 'run', 'operate', 'delegate'] as const
export type Scope = (typeof SCOPES)[number]

export interface Caller {
  readonly name: string
  readonly namespace: string
  readonly scopes: ReadonlySet<Scope>
}

export interface Token extends Caller {
  readonly sha256: Buffer
}

const pattern = /^([A-Za-z0-9._@-]{1,64}):([a-z+]+):([0-9a-fA-F]{64})(?::([a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?))?$/

/** `name:scope+scope:sha256hex[:namespace]`, separated by commas. Throws `BAD_TOKENS` naming the entry by its place, never its text. */
export function parseTokens(text: string): Token[] {
  return text.split(',').map((entry) => entry.trim()).filter((entry) => entry !== '').map((entry, i) => {
    const [, name, scopes, sha256, namespace = 'default'] = pattern.exec(entry) ?? []
    const wanted = scopes?.split('+') ?? []
    const known = SCOPES.filter((scope) => wanted.includes(scope))
    if (name === undefined || sha256 === undefined || known.length === 0 || known.length !== new Set(wanted).size) {
      throw new PawlError('BAD_TOKENS', `PAWL_TOKENS, entry ${i + 1}: write name:scopes:sha256-of-the-token[:namespace], with scopes of ${SCOPES.join(', ')} joined by "+" (printf %s "$TOKEN" | sha256sum).`, 'crash')
    }
    return { name, namespace, scopes: new Set(known), sha256: Buffer.from(sha256, 'hex') }
  })
}

const local: Caller = { name: 'local', namespace: 'default', scopes: new Set(SCOPES) }

/** The caller of a request. Without tokens everybody who reaches the loopback address is `local`. Compares every token, in the same time whichever matches. */
export function authenticate(tokens: readonly Token[], authorization: string | undefined): Caller {
  if (tokens.length === 0) return local
  const given = createHash('sha256').update(/^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '').digest()
  let found: Token | undefined
  for (const token of tokens) if (timingSafeEqual(token.sha256, given)) found = token
  if (found === undefined || authorization === undefined) throw new PawlError('UNAUTHENTICATED', 'This request needs a known token. Send "Authorization: Bearer <token>"; the operator lists its SHA-256 in PAWL_TOKENS.')
  return found
}

const actorPattern = /^[A-Za-z0-9._@-]{1,64}$/

/** The caller, under the name that `Pawl-Actor` gives. Throws `FORBIDDEN` for a token without `delegate`, `BAD_ACTOR` for a name that is none. */
export function actingFor(caller: Caller, actor: string | undefined): Caller {
  if (actor === undefined) return caller
  if (!caller.scopes.has('delegate')) {
    throw new PawlError('FORBIDDEN', `The token "${caller.name}" has no scope "delegate", so it may not act for others. Leave Pawl-Actor away, or add the scope in PAWL_TOKENS.`, 'tell', { scope: 'delegate' })
  }
  if (!actorPattern.test(actor)) throw new PawlError('BAD_ACTOR', 'Pawl-Actor must be 1 to 64 characters of A-Z, a-z, 0-9, ".", "_", "@" and "-".')
  return { ...caller, name: actor }
}

export function requireScope(caller: Caller, scope: Scope): void {
  if (!caller.scopes.has(scope)) {
    throw new PawlError('FORBIDDEN', `The token "${caller.name}" has no scope "${scope}", which this needs. Use another token, or add the scope in PAWL_TOKENS.`, 'tell', { scope })
  }
}
