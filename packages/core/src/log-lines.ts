/**
 * How every app writes its log: one JSON object a line, and nothing in it that is a secret or a person's. Whoever logs names places (run, item, action,
 * attempt, epoch, trace), never values; this is the second fence, for the error of a library that carries a header or an address with a password.
 */
const secretNames = ['authorization', 'cookie', 'set-cookie', 'password', 'secret', 'token', 'apiKey', 'api_key', 'args', 'input', 'payload', 'result', 'databaseUrl', 'redisUrl', 'DATABASE_URL', 'REDIS_URL', 'PAWL_TOKENS']

/** Passwords in addresses, bearer tokens. */
export function withoutSecrets(text: string): string {
  return text.replaceAll(/\b([a-z][a-z0-9+.-]*:\/\/[^\s/:@"]*):[^\s/@"]+@/gi, '$1:***@').replaceAll(/\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi, '$1 ***')
}

export interface LogOptions<L extends string> {
  readonly level: L
  readonly name: string
}

/** For `pino(…)`. */
export function logOptions<L extends string>({ level, name }: LogOptions<L>) {
  return {
    level, name, base: { pid: process.pid },
    redact: { paths: secretNames.flatMap((key) => [`["${key}"]`, `*["${key}"]`]), censor: '***' },
    hooks: { streamWrite: withoutSecrets },
  }
}
