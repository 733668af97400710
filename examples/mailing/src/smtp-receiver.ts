/** A real SMTP server in its own process: `node smtp-receiver.js BOOK SLOW_MS`. Prints its port. Writes a mail into its book, then takes its time to answer. */
import { SMTPServer } from 'smtp-server'
import { writeReceipt } from './receipts.ts'

const [book = '', slowMs = '0'] = process.argv.slice(2)

const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS', 'AUTH'],
  onData(stream, session, done) {
    let text = ''
    stream.setEncoding('utf8')
    stream.on('data', (chunk: string) => { text += chunk })
    stream.on('end', () => {
      // Half of its time before the mail is taken, half after: a sender killed meanwhile cannot know which.
      setTimeout(() => {
        const id = /^message-id:\s*<([^>]+)>/im.exec(text)?.[1] ?? 'none'
        const to = session.envelope.rcptTo[0]?.address ?? 'nobody'
        writeReceipt(book, { to, id, applied: true })
        setTimeout(() => done(null, 'taken'), Number(slowMs) / 2)
      }, Number(slowMs) / 2)
    })
  },
})
server.on('error', () => {})
server.listen(0, '127.0.0.1', () => {
  const address = server.server.address()
  process.stdout.write(`${typeof address === 'object' && address !== null ? address.port : 0}\n`)
})
process.on('disconnect', () => process.exit(0))
