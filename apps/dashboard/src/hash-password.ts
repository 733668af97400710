/** `npm run hash-password -w @pawl/dashboard`: reads a password from stdin (not from the arguments, which others can see) and prints its hash. */
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { hashPassword } from './auth/password.ts'

const isTerminal = process.stdin.isTTY
const lines = createInterface({ input: process.stdin, output: new Writable({ write: (_chunk, _encoding, done) => { done() } }), terminal: isTerminal })
if (isTerminal) process.stderr.write('Password (not shown): ')
lines.once('line', (password) => {
  lines.close()
  if (isTerminal) process.stderr.write('\n')
  if (password.length < 8) {
    process.stderr.write('A password needs 8 characters or more.\n')
    process.exitCode = 1
    return
  }
  hashPassword(password).then((hash) => process.stdout.write(`${hash}\n`), (error: unknown) => { throw error })
})
