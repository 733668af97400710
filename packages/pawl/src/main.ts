#!/usr/bin/env node
/** The `pawl` command. Everything it does is in `commands/`, one file a command; this file only turns the outcome into the process's end. */
import { reportFailure } from './cli/fail.ts'
import { asksForJson } from './cli/leaf.ts'
import { runCommand } from './cli/program.ts'

const words = process.argv.slice(2)

// A reader that has seen enough (`pawl run list | head`) is no failure; a disk that is full is.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : reportFailure(error, { json: asksForJson(words), verbose: words.includes('--verbose') })))

const code = await runCommand(words)
process.stdout.write('', () => process.exit(code))
