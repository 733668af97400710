#!/usr/bin/env node
/** The `pawl` command. Everything it does is in `commands/`, one file a command; this file only turns the outcome into the process's end. */
import { runCommand } from './cli/program.ts'

// A reader that has seen enough (`pawl run list | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

const code = await runCommand(process.argv.slice(2))
process.stdout.write('', () => process.exit(code))
