/**
 * `mail.smtp`: sends one mail through an SMTP server.
 *
 * Effect class: `non-idempotent`. SMTP has no idempotency key and servers deduplicate nothing; a mail handed over twice is
 * two mails. The Message-ID is derived from the key, the same on every send: some receivers hide the copy, and a `verify`
 * hook can look for it (the provider's log, the sent folder by IMAP). Without `verify` a send whose answer was lost is for
 * a person to settle. There is no undo: mail cannot be recalled.
 *
 * Proved not applied: everything that fails before the end of the mail's data was written (connection, a server that never
 * answers, login, refused sender or recipients), and the server's 4xx or 5xx answer to the data itself. A connection that breaks after the data
 * leaves the call unsettled.
 */
import { PawlError, sha256 } from '@pawl/core'
import MailComposer from 'nodemailer/lib/mail-composer'
import { parseConnectionUrl } from 'nodemailer/lib/shared'
import { z } from 'zod'
import { defineTool, type StagedTool, type Tool, type ToolDefinition } from '../define-tool.ts'
import { sendBySmtp, type SmtpServer } from './smtp-send.ts'

export interface MailInput {
  readonly to: readonly string[]
  readonly cc?: readonly string[] | undefined
  readonly bcc?: readonly string[] | undefined
  readonly replyTo?: string | undefined
  readonly subject: string
  readonly text?: string | undefined
  readonly html?: string | undefined
  readonly attachments?: readonly { readonly filename: string; readonly contentType?: string | undefined; readonly base64: string }[] | undefined
}

export interface MailResult {
  readonly messageId: string
  readonly accepted: readonly string[]
  /** Recipients the server refused while it took the mail for the others. */
  readonly rejected: readonly string[]
  readonly response: string
}

export interface MailSmtpOptions extends Pick<ToolDefinition<MailInput, MailResult>, 'key' | 'timeout' | 'retry' | 'settleWindow' | 'irreversible' | 'approval' | 'stage'> {
  /** `smtps://user:password@host:465` or `smtp://host:587`, or nodemailer's connection options. */
  readonly server: string | SmtpServer
  /** `Shop <shop@example.com>`: the sender of every mail. */
  readonly from: string
  readonly name?: string
  readonly version?: string
  /** Looks whether a mail with this Message-ID has left. */
  readonly verify?: (call: { readonly messageId: string; readonly input: MailInput; readonly signal: AbortSignal; readonly evidence: readonly unknown[] }) => ReturnType<NonNullable<ToolDefinition<MailInput, MailResult>['verify']>>
}

const oneLine = z.string().regex(/^[^\r\n]*$/, 'must be one line')
const inputSchema: z.ZodType<MailInput> = z.strictObject({
  to: z.array(z.email()).min(1),
  cc: z.array(z.email()).optional(),
  bcc: z.array(z.email()).optional(),
  replyTo: z.email().optional(),
  subject: oneLine.max(900),
  text: z.string().optional(),
  html: z.string().optional(),
  attachments: z.array(z.strictObject({ filename: oneLine, contentType: oneLine.optional(), base64: z.base64() })).optional(),
}).refine(({ text, html }) => text !== undefined || html !== undefined, { path: ['text'], message: 'a mail needs text or html' })

export function mailSmtp(options: MailSmtpOptions & { readonly stage: true }): StagedTool<MailInput, MailResult>
export function mailSmtp(options: MailSmtpOptions): Tool<MailInput, MailResult>
export function mailSmtp(options: MailSmtpOptions): Tool<MailInput, MailResult> {
  const name = options.name ?? 'mail.smtp'
  const server = typeof options.server === 'string' ? serverFromUrl(options.server, name) : options.server
  const domain = /@([^\s<>@]+)>?\s*$/.exec(options.from)?.[1]
  if (!domain) throw new PawlError('BAD_TOOL', `Tool "${name}": from "${options.from}" has no address. Write "Name <name@example.com>".`, 'crash', { tool: name })
  const messageIdOf = (key: string) => `<${sha256(key).slice(0, 40)}@${domain}>`
  const { key, timeout, retry, settleWindow, irreversible, approval, stage, verify } = options

  return defineTool<MailInput, MailResult>({
    name,
    version: options.version ?? '1',
    description: 'Sends one mail.',
    effect: 'non-idempotent',
    guarded: true,
    inputSchema,
    outputSchema: z.object({ messageId: z.string(), accepted: z.array(z.string()), rejected: z.array(z.string()), response: z.string() }),
    ...(key ? { key } : {}),
    ...(timeout === undefined ? {} : { timeout }),
    ...(retry ? { retry } : {}),
    ...(settleWindow === undefined ? {} : { settleWindow }),
    ...(irreversible === undefined ? {} : { irreversible }),
    ...(approval === undefined ? {} : { approval }),
    ...(stage === undefined ? {} : { stage }),
    ...(verify ? { verify: (input, context) => verify({ input, messageId: messageIdOf(context.key), signal: context.signal, evidence: context.evidence }) } : {}),
    async execute(input, context) {
      const messageId = messageIdOf(context.key)
      const receipt = await sendBySmtp(server, await compose(options.from, messageId, input), () => context.guard(), context.signal)
      return { messageId, ...receipt }
    },
  })
}

function serverFromUrl(url: string, tool: string): SmtpServer {
  if (!/^smtps?:\/\/[^/]/.test(url)) throw new PawlError('BAD_TOOL', `Tool "${tool}": server must be an URL like smtps://user:password@host:465.`, 'crash', { tool })
  return parseConnectionUrl(url) as SmtpServer
}

/** Everything comes from the input: no attachment by path or link, which would read the worker's own files and network. */
async function compose(from: string, messageId: string, input: MailInput) {
  const mail = new MailComposer({
    from,
    messageId,
    to: [...input.to],
    subject: input.subject,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(input.cc ? { cc: [...input.cc] } : {}),
    ...(input.bcc ? { bcc: [...input.bcc] } : {}),
    ...(input.replyTo ? { replyTo: input.replyTo } : {}),
    ...(input.text === undefined ? {} : { text: input.text }),
    ...(input.html === undefined ? {} : { html: input.html }),
    ...(input.attachments ? { attachments: input.attachments.map(({ filename, contentType, base64 }) => ({ filename, content: Buffer.from(base64, 'base64'), ...(contentType ? { contentType } : {}) })) } : {}),
  }).compile()
  const envelope = mail.getEnvelope()
  return { envelope: { from: String(envelope.from), to: envelope.to.map(String) }, raw: await mail.build() }
}
