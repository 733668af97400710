/** Turns what was typed into values; everything refused here is a `UsageError` that names the option. */
import { BLOCKED_REASONS, durationMs, parseJson, PawlError, type BlockedReason } from '@pawl/core'
import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import { UsageError } from './fail.ts'

/** JSON as typed, `@file` for its content, `@-` for stdin. */
export function readJson(given: string, option: string): unknown {
  const text = given.startsWith('@') ? readText(given.slice(1), option) : given
  try {
    return parseJson(text, given.startsWith('@') ? given.slice(1) : 'The value')
  } catch (error) {
    const source = given.startsWith('@') ? `${option}: ${given.slice(1)}` : option
    if (error instanceof PawlError && error.code !== 'MALFORMED_JSON') throw new UsageError(`${option}: ${error.message}`)
    const why = error instanceof PawlError ? error.cause : error
    throw new UsageError(`${source} is not JSON (${why instanceof Error ? why.message : String(why)}). Quote it for your shell, like ${option} '{"name":"value"}', or write ${option} @file.json. A text is JSON in quotes of its own: '"like this"'.`)
  }
}

function readText(file: string, option: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new UsageError(`${option}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)}).`)
  }
}

/** For `--label k=v`, given as often as there are labels. */
export function collectLabel(given: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const at = given.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('Write it like --label team=billing.')
  const [name, value] = [given.slice(0, at), given.slice(at + 1)]
  const other = Object.hasOwn(before, name) ? before[name] : undefined
  if (other !== undefined && other !== value) throw new InvalidArgumentError(`A run has one value under a label; "${name}" was given "${other}" and "${value}".`)
  return { ...before, [name]: value }
}

export const wholeNumber = (least: number, most: number) => (given: string): number => {
  const n = Number(given)
  if (given.trim() === '' || !Number.isInteger(n) || n < least || n > most) throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`)
  return n
}

/** For `--shown reason@attempts`, as the inbox prints it. */
export function shownBlock(given: string): { reason: BlockedReason; attempts: number } {
  const [, name, attempts] = /^(\w+)@(\d{1,9})$/.exec(given) ?? []
  const reason = BLOCKED_REASONS.find((one) => one === name)
  if (reason === undefined) throw new InvalidArgumentError('Write it as the inbox shows it, like --shown undo@4.')
  return { reason, attempts: Number(attempts) }
}

/** An argument that must be a number; commander has no place for a parser of required arguments that keeps the text. */
export function numberArgument(given: string, name: string): number {
  const n = Number(given)
  if (!/^\d+$/.test(given) || !Number.isSafeInteger(n)) throw new UsageError(`${name} must be a whole number, as the lists show it; "${given.slice(0, 40)}" is not.`)
  return n
}

/** A moment: a date or a time as ISO 8601 has it, or how long ago it was. */
export function moment(given: string): Date {
  if (/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/.test(given)) {
    // A time without a zone is UTC, as every list shows it.
    const at = new Date(given.includes('T') && !/(Z|[+-]\d\d:?\d\d)$/.test(given) ? `${given}Z` : given)
    if (!Number.isNaN(at.getTime())) return at
  }
  try {
    return new Date(Date.now() - durationMs(given, 'the moment'))
  } catch {
    throw new InvalidArgumentError('Write a date (2026-11-30), a time (2026-11-30T08:00Z), or how long ago (2h, 3d).')
  }
}
