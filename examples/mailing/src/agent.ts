import { defineAgent, defineTool } from 'pawl'
import { mailSmtp } from 'pawl/tools/mail'
import { z } from 'zod'

const mail = z.object({ to: z.email(), subject: z.string(), text: z.string() })

/** Through a provider that deduplicates on the key, the call still running included: may be called again at once, and nobody is ever asked. */
export const mailApi = (url: string) => defineTool({
  name: 'mail-api.send', version: '1', description: 'Send one email through the provider\'s HTTP API',
  effect: 'idempotent', concurrent: true, keyWindow: '24h', timeout: '5s',
  inputSchema: mail, outputSchema: z.object({ messageId: z.string() }),
  key: ({ to, subject }) => [to, subject],
  async execute(input, { key, fetch, signal }) {
    const response = await fetch(`${url}/mails`, { method: 'POST', signal, headers: { 'content-type': 'application/json', 'idempotency-key': key }, body: JSON.stringify(input) })
    if (!response.ok) throw new Error(`the provider answered ${response.status}`)
    return z.object({ messageId: z.string() }).parse(await response.json())
  },
})

/** Through SMTP, which deduplicates nothing and cannot be asked: a mail in doubt is for a person. */
const overSmtp = (server: string) => mailSmtp({ server, from: 'Pawl <pawl@example.com>', timeout: '5s', settleWindow: '1s', key: ({ to, subject }) => [to, subject] })

const inputSchema = z.object({ subject: z.string(), recipients: z.array(z.email()) })
const payloadSchema = z.object({ to: z.email() })

export const mailingOverApi = (url: string) => defineAgent({
  name: 'mailing-api', version: '1', inputSchema, payloadSchema, tools: { send: mailApi(url) },
  *split({ recipients }) { for (const to of recipients) yield { key: to, payload: { to } } },
  async run({ input, payload, tools }) {
    const sent = await tools.send({ to: payload.to, subject: input.subject, text: 'Welcome aboard.' })
    return { resultRef: sent.messageId }
  },
})

export const mailingOverSmtp = (server: string) => defineAgent({
  name: 'mailing-smtp', version: '1', inputSchema, payloadSchema, tools: { send: overSmtp(server) },
  *split({ recipients }) { for (const to of recipients) yield { key: to, payload: { to } } },
  async run({ input, payload, tools }) {
    const sent = await tools.send({ to: [payload.to], subject: input.subject, text: 'Welcome aboard.' })
    return { resultRef: sent.messageId }
  },
})

