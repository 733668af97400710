/**
 * One mail over one SMTP connection of its own, with the last word before its last byte. A server accepts a mail only
 * when the end of its data (a lone dot) has arrived, so the guard is asked when everything but that is written, and only
 * then: whatever ends the call before has sent nothing. A refusal hangs up and the server has to discard what it got. Built on nodemailer's connection rather than its transport, which
 * offers no such moment and may keep, pool and re-queue.
 */
import { Readable } from 'node:stream'
import { NotApplied } from '@pawl/core'
import SMTPConnection, { type SMTPConnectionAuth, type SMTPConnectionOptions } from 'nodemailer/lib/smtp-connection'
import { NotSent } from '../not-sent.ts'

export interface SmtpServer extends SMTPConnectionOptions {
  readonly auth?: SMTPConnectionAuth
}

export interface SmtpMail {
  readonly envelope: { readonly from: string; readonly to: string[] }
  readonly raw: Buffer
}

export interface SmtpReceipt {
  readonly accepted: readonly string[]
  readonly rejected: readonly string[]
  readonly response: string
}

interface SmtpFailure extends Error {
  readonly code?: string
  readonly responseCode?: number
}

interface Progress {
  /** The end of the data has been handed over: from here on the mail may be accepted. */
  isDataComplete: boolean
  refusal: unknown
}

export async function sendBySmtp(server: SmtpServer, mail: SmtpMail, guard: () => void, signal: AbortSignal): Promise<SmtpReceipt> {
  const { auth, ...options } = server
  const connection = new SMTPConnection({ connectionTimeout: 20_000, socketTimeout: 60_000, ...options, logger: false })
  const progress: Progress = { isDataComplete: false, refusal: undefined }
  const interrupted = new Promise<never>((_resolve, reject) => {
    connection.on('error', reject)
    connection.on('end', () => reject(new Error('the connection was closed.')))
    const abort = () => reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
  interrupted.catch(() => {})
  try {
    return await Promise.race([interrupted, converse(connection, auth, mail, guard, progress)])
  } catch (error) {
    // Hanging up ends the conversation in several voices; the guard's is the one that counts.
    throw judge(progress.refusal ?? error, progress.isDataComplete)
  } finally {
    connection.close()
  }
}

async function converse(connection: SMTPConnection, auth: SMTPConnectionAuth | undefined, mail: SmtpMail, guard: () => void, progress: Progress): Promise<SmtpReceipt> {
  await called((done) => connection.connect(done))
  if (auth) await called((done) => connection.login(auth, done))
  return new Promise((resolve, reject) => {
    const data = guardedData(mail.raw, guard, progress)
    data.on('error', (error) => {
      // Nothing more may be written: the end of the data must not follow.
      connection.close()
      reject(error)
    })
    connection.send({ ...mail.envelope, size: mail.raw.length }, data, (error, info) => {
      if (error || !info) reject(error ?? new Error('no answer'))
      else resolve({ accepted: addresses(info.accepted), rejected: addresses(info.rejected), response: info.response ?? '' })
    })
  })
}

/** The mail's bytes; before their end is announced the guard is asked. */
function guardedData(raw: Buffer, guard: () => void, progress: Progress): Readable {
  let offset = 0
  return new Readable({
    read() {
      if (offset < raw.length) {
        this.push(raw.subarray(offset, (offset += 65_536)))
        return
      }
      try {
        guard()
      } catch (refusal) {
        progress.refusal = refusal
        this.destroy(refusal instanceof Error ? refusal : new NotSent(String(refusal)))
        return
      }
      progress.isDataComplete = true
      this.push(null)
    },
  })
}

/** Before the end of the data nothing can have been accepted. After it, only the server's refusal of the mail is proof. */
function judge(error: unknown, isDataComplete: boolean): unknown {
  // Without its cause: a mail that takes longer than the send window is refused in the end, not tried for ever.
  if (error instanceof NotSent) return new NotApplied(`the mail was not sent: ${error.message}`)
  const failure = error as SmtpFailure
  const text = failure instanceof Error ? failure.message : String(error)
  if (!isDataComplete) return new NotApplied(`the mail was not sent: ${text}`, { cause: error })
  // 421 may announce a shutdown instead of answering the data.
  const isRefusal = failure.code === 'EMESSAGE' && failure.responseCode !== undefined && failure.responseCode >= 400 && failure.responseCode !== 421
  return isRefusal ? new NotApplied(`the server refused the mail: ${text}`, { cause: error }) : error
}

const addresses = (list: readonly unknown[] | undefined): string[] => (list ?? []).map(String)

function called(begin: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => begin((error) => (error ? reject(error) : resolve())))
}
