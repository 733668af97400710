export { mailingOverApi, mailingOverSmtp } from './agent.ts'
export { readReceipts, type Receipt } from './receipts.ts'
