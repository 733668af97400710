import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { NotApplied } from '@pawl/core'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterEach, describe, expect, it } from 'vitest'
import { rejection, testContext, verifyContext } from '../fixtures/context.testsuite.ts'
import { NotSent } from '../not-sent.ts'
import { unknown } from '../verdict.ts'
import { mailSmtp, type MailInput } from './mail-smtp.ts'

const mail: MailInput = { to: ['ann@example.com'], bcc: ['boss@example.com'], subject: 'Hello', text: 'Hi\n.\nthere\n' }
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

interface Receipt {
  readonly recipients: string[]
  readonly text: string
}

/** A real SMTP server; what its `onData` accepted is a receipt. */
async function startServer(options: SMTPServerOptions = {}): Promise<{ port: number; receipts: Receipt[] }> {
  const receipts: Receipt[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        receipts.push({ recipients: session.envelope.rcptTo.map(({ address }) => address), text: Buffer.concat(chunks).toString() })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  closers.push(() => new Promise((resolve) => server.close(() => resolve())))
  return { port: (server.server.address() as AddressInfo).port, receipts }
}

/** A server of bare sockets that does what no library would: it takes a mail and then behaves as it is told. */
async function startRudeServer(afterData: (socket: Socket) => void): Promise<{ port: number; accepted: () => number }> {
  let accepted = 0
  const server: Server = createServer((socket) => {
    let isData = false
    let text = ''
    socket.on('error', () => {})
    socket.write('220 rude\r\n')
    socket.on('data', (chunk) => {
      text += chunk.toString()
      if (isData) {
        if (!text.endsWith('\r\n.\r\n')) return
        accepted += 1
        isData = false
        text = ''
        return afterData(socket)
      }
      for (let end = text.indexOf('\r\n'); end >= 0 && !isData; end = text.indexOf('\r\n')) {
        const line = text.slice(0, end)
        text = text.slice(end + 2)
        isData = line === 'DATA'
        socket.write(isData ? '354 go\r\n' : '250 ok\r\n')
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => new Promise((resolve) => server.close(() => resolve())))
  return { port: (server.address() as AddressInfo).port, accepted: () => accepted }
}

const tool = (port: number) => mailSmtp({ server: { host: '127.0.0.1', port, ignoreTLS: true }, from: 'Shop <shop@example.org>' })

describe('a mail', () => {
  it('arrives once, with a Message-ID that is the same on every send of its key', async () => {
    const { port, receipts } = await startServer()
    const first = await tool(port).execute(mail, testContext('k'))
    expect(first).toMatchObject({ accepted: ['ann@example.com', 'boss@example.com'], rejected: [] })
    expect(receipts).toHaveLength(1)
    expect(receipts[0]?.recipients).toEqual(['ann@example.com', 'boss@example.com'])
    expect(receipts[0]?.text).toContain(`Message-ID: ${first.messageId}`)
    expect(receipts[0]?.text).toMatch(/Hi\r\n\.\r\nthere/)
    expect(receipts[0]?.text).not.toContain('boss@example.com')
    expect((await tool(port).execute(mail, testContext('k'))).messageId).toBe(first.messageId)
    expect((await tool(port).execute(mail, testContext('other'))).messageId).not.toBe(first.messageId)
  })

  it('may be given by URL and carries attachments', async () => {
    const { port, receipts } = await startServer()
    const byUrl = mailSmtp({ server: `smtp://127.0.0.1:${port}`, from: 'shop@example.org' })
    await byUrl.execute({ ...mail, html: '<p>Hi</p>', attachments: [{ filename: 'a.txt', base64: 'QUJD' }] }, testContext())
    expect(receipts[0]?.text).toContain('filename=a.txt')
  })

  it('is non-idempotent, and verified by its Message-ID where there is a hook', async () => {
    const seen: string[] = []
    const verified = mailSmtp({ server: 'smtp://127.0.0.1', from: 'shop@example.org', verify: async ({ messageId }) => {
      seen.push(messageId)
      return unknown()
    } })
    expect(verified.effect).toBe('non-idempotent')
    await verified.verify?.(mail, verifyContext('k'))
    expect(seen[0]).toMatch(/^<[0-9a-f]{40}@example\.org>$/)
  })

  it('with a bad address, a header in its subject, or nothing to say is refused', () => {
    const { inputSchema } = tool(1)
    expect(inputSchema.safeParse({ ...mail, to: ['not an address'] }).success).toBe(false)
    expect(inputSchema.safeParse({ ...mail, to: [] }).success).toBe(false)
    expect(inputSchema.safeParse({ ...mail, subject: 'x\r\nBcc: all@example.com' }).error?.message).toMatch(/one line/)
    expect(inputSchema.safeParse({ to: ['a@example.com'], subject: 'x' }).error?.message).toMatch(/text or html/)
    expect(() => mailSmtp({ server: 'http://x', from: 'a@example.com' })).toThrow(/smtps:\/\//)
    expect(() => mailSmtp({ server: 'smtp://x', from: 'nobody' })).toThrow(/no address/)
  })
})

describe('proved not applied', () => {
  it('a refused connection', async () => {
    const { port } = await startServer()
    for (const close of closers.splice(0)) await close()
    expect(await rejection(tool(port).execute(mail, testContext()))).toBeInstanceOf(NotApplied)
  })

  it('a refused sender, refused recipients, a refused mail (4xx and 5xx)', async () => {
    const refuse = (code: number) => Object.assign(new Error('no'), { responseCode: code })
    const onMailFrom: SMTPServerOptions['onMailFrom'] = (_address, _session, done) => done(refuse(550))
    const onRcptTo: SMTPServerOptions['onRcptTo'] = (_address, _session, done) => done(refuse(450))
    const onData = (code: number): SMTPServerOptions['onData'] => (stream, _session, done) => {
      stream.resume()
      stream.on('end', () => done(refuse(code)))
    }
    for (const options of [{ onMailFrom }, { onRcptTo }, { onData: onData(451) }, { onData: onData(554) }]) {
      const { port, receipts } = await startServer(options as SMTPServerOptions)
      expect(await rejection(tool(port).execute(mail, testContext()))).toBeInstanceOf(NotApplied)
      expect(receipts).toHaveLength(0)
    }
  })

  it('a tool that times out before anything was answered', async () => {
    const silent = createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    closers.push(() => new Promise((resolve) => silent.close(() => resolve())))
    let asked = 0
    const silently = tool((silent.address() as AddressInfo).port)
    expect(await rejection(silently.execute(mail, testContext('k', { signal: AbortSignal.timeout(100), guard: () => { asked += 1 } })))).toBeInstanceOf(NotApplied)
    // Pawl's own deadline may be first: that a guarded tool has not asked the guard proves the same.
    expect([silently.guarded, asked]).toEqual([true, 0])
  })
})

describe('not sent', () => {
  it('when the guard closes while the mail is being written: the server gets no end of data and keeps nothing', async () => {
    const { port, accepted } = await startRudeServer((socket) => socket.write('250 accepted\r\n'))
    let asked = 0
    const context = testContext('k', {
      guard: () => {
        asked += 1
        throw new NotSent('the send window is over')
      },
    })
    expect(await rejection(tool(port).execute({ ...mail, text: 'x'.repeat(300_000) }, context))).toBeInstanceOf(NotApplied)
    expect(asked).toBe(1)
    // A whole mail afterwards, on the same server: had the first one ended, it would be counted by now.
    await tool(port).execute(mail, testContext())
    expect(accepted()).toBe(1)
  })
})

describe('unsettled', () => {
  for (const [title, afterData] of [
    ['the connection ends after the data, before the answer', (socket: Socket) => socket.destroy()],
    ['it is reset', (socket: Socket) => socket.resetAndDestroy()],
    ['half a refusal arrives', (socket: Socket) => socket.end('550 no such')],
    ['the server says it is shutting down', (socket: Socket) => socket.end('421 bye\r\n')],
  ] as const) {
    it(title, async () => {
      const { port, accepted } = await startRudeServer(afterData)
      expect(await rejection(tool(port).execute(mail, testContext()))).not.toBeInstanceOf(NotApplied)
      expect(accepted()).toBe(1)
    })
  }

  it('no answer comes before the timeout', async () => {
    const { port, accepted } = await startRudeServer(() => {})
    expect(await rejection(tool(port).execute(mail, testContext('k', { signal: AbortSignal.timeout(300) })))).not.toBeInstanceOf(NotApplied)
    expect(accepted()).toBe(1)
  })
})
