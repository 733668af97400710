import { defineConfig } from 'pawl'
import { mailingOverApi, mailingOverSmtp } from './agent.ts'

const { MAILING_SMTP: smtp, MAILING_API: api } = process.env
if (smtp === undefined && api === undefined) throw new Error('set MAILING_SMTP=smtp://host:port or MAILING_API=http://host:port')

export default defineConfig({ agents: [...(smtp === undefined ? [] : [mailingOverSmtp(smtp)]), ...(api === undefined ? [] : [mailingOverApi(api)])] })
