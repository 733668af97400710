/** How a command says that it could not: one sentence with the way out on stderr (with `--json` as a JSON line), and the exit code. What it quotes is others' text, and shown as such. */
import { PawlError } from '@pawl/core'
import { CommanderError } from 'commander'
import colors from 'picocolors'
import { exitOf } from './exit-codes.ts'
import { plainLines } from './plain.ts'

/** What was typed cannot be meant; exit code 2. */
export class UsageError extends PawlError {
  constructor(message: string, details: Readonly<Record<string, unknown>> = {}) {
    super('USAGE', message, 'tell', details)
  }
}

export function reportFailure(thrown: unknown, how: { json: boolean; verbose: boolean }): number {
  if (thrown instanceof CommanderError) {
    if (thrown.exitCode === 0) return exitOf.ok
    // People were told by commander, with where the help is.
    if (how.json) process.stderr.write(`${JSON.stringify({ code: 'USAGE', message: usageOf(thrown), details: {} })}\n`)
    return exitOf.usage
  }
  const { code, message, details } = explain(thrown)
  process.stderr.write(how.json ? `${JSON.stringify({ code, message, details })}\n` : `${colors.red('pawl:')} ${plainLines(message)}\n`)
  if (how.verbose && thrown instanceof Error) process.stderr.write(`${plainLines(thrown.stack ?? '')}\n${thrown.cause === undefined ? '' : `caused by ${plainLines(describe(thrown.cause))}\n`}`)
  return thrown instanceof UsageError ? exitOf.usage : exitOf.failed
}

const usageOf = ({ code, message }: CommanderError): string => (code === 'commander.help' ? 'Name a command; --help lists them.' : message.replace(/^error: /, '').replaceAll('\n', ' '))

const describe = (cause: unknown): string => (cause instanceof Error ? (cause.stack ?? cause.message) : String(cause))

/** Postgres' own refusals of a connection, whose texts name the user or database, never the password; and a disk's. */
const refusals: Readonly<Record<string, string>> = {
  '28P01': 'Check user and password of DATABASE_URL (or --database).',
  '28000': 'Check the user of DATABASE_URL (or --database) and what pg_hba.conf allows it.',
  '3D000': 'Create the database, or correct its name in DATABASE_URL (or --database).',
  ENOSPC: 'The disk that the output goes to is full: make room, and give the command again.',
  '42501': 'Connect as the role that owns the ledger, or grant this one its rights.',
}

/** Refusals whose way out has a flag here. */
const flags: Readonly<Record<string, string>> = {
  ITEMS_NEEDED: 'On the command line: --items items.ndjson.',
  VERSION_NEEDED: 'On the command line: --agent-version, or --config to have the agents known.',
}

function explain(thrown: unknown): { code: string; message: string; details: Readonly<Record<string, unknown>> } {
  if (thrown instanceof PawlError) {
    const flag = flags[thrown.code]
    return { code: thrown.code, message: flag === undefined ? thrown.message : `${thrown.message} ${flag}`, details: thrown.details }
  }
  const { code } = (thrown ?? {}) as { code?: unknown }
  const name = typeof code === 'string' ? code : 'UNEXPECTED'
  const words = thrown instanceof Error ? thrown.message : String(thrown)
  return { code: name, message: `${words.replace(/\.?$/, '.')} ${refusals[name] ?? 'Run it again with --verbose to see where this comes from.'}`, details: {} }
}
