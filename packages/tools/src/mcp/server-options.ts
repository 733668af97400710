/** Where an MCP server is. */
import type { Duration } from '@pawl/core'

interface Common {
  /** Lower case: begins the names of its tools in the ledger (`files.write_file`), so it stays the same for as long as runs do. */
  readonly name: string
  /** For starting, shaking hands and listing. Default 10 s. */
  readonly connectTimeout?: Duration
  /** An unused connection is closed after this, and its process ended. Default 5 min. */
  readonly idleTimeout?: Duration
}

/** A child of this process. It gets PATH, HOME, SHELL, TERM, USER and LOGNAME, and of everything else only what `env` says. */
export interface StdioServer extends Common {
  readonly command: string
  readonly args?: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Streamable HTTP. `headers` are asked for at every connect, so that credentials can change. */
export interface HttpServer extends Common {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)
}

export type McpServerOptions = StdioServer | HttpServer

export const isStdio = (options: McpServerOptions): options is StdioServer => 'command' in options

/** The server for an error message: the program without its arguments, the address without credentials and query. */
export function placeOf(options: McpServerOptions): string {
  if (isStdio(options)) return `stdio, ${options.command}`
  try {
    const url = new URL(options.url)
    return `${url.origin}${url.pathname}`
  } catch {
    return 'an address that is no URL'
  }
}

/** Takes configured secrets out of a text. */
export function maskSecrets(text: string, secrets: readonly string[]): string {
  return secrets.filter((secret) => secret.length >= 4).toSorted((a, b) => b.length - a.length).reduce((masked, secret) => masked.replaceAll(secret, '***'), text)
}

/** Values of `env` and headers, credentials and query of the address, and of the arguments what follows `=` or a word like `--token`. */
export function secretsOf(options: McpServerOptions, headers: Readonly<Record<string, string>>): string[] {
  const spoken = Object.values(headers).flatMap((value) => [value, ...value.split(' ').slice(1)])
  if (isStdio(options)) return [...spoken, ...Object.values(options.env ?? {}), ...secretArgs(options.args ?? [])]
  try {
    const { username, password, searchParams } = new URL(options.url)
    return [...spoken, username, password, ...searchParams.values()].map((part) => decodeURIComponent(part))
  } catch {
    return spoken
  }
}

const secretArgs = (args: readonly string[]): string[] => args.flatMap((arg, n) => {
  if (arg.includes('=')) return [arg.slice(arg.indexOf('=') + 1)]
  return /key|token|secret|passw|credential|auth/i.test(args[n - 1] ?? '') ? [arg] : []
})
