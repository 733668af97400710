export { mailSmtp, type MailInput, type MailResult, type MailSmtpOptions } from './mail-smtp.ts'
export type { SmtpServer } from './smtp-send.ts'
