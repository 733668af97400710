/** Fifty mails, twice: through SMTP, which deduplicates nothing, and through an API that honours keys. The receivers' books are the judge. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mailingOverApi, mailingOverSmtp, readReceipts } from '@pawl/example-mailing'
import type { Example, Proof, World, WorldOptions } from './world.ts'

const recipientsOf = (isSmall: boolean) => Array.from({ length: isSmall ? 20 : 50 }, (_, i) => `guest${i + 1}@example.com`)
const subject = 'Welcome'
const configPath = () => fileURLToPath(import.meta.resolve('@pawl/example-mailing/config'))

export const mailing: Example = {
  name: 'mailing',
  about: '50 mails, killed at about 30, twice: through SMTP (a mail in doubt is answered by a person) and through an API that honours keys (nobody is asked).',
  worlds: [openSmtp, openApi],
}

/** The receivers live on whatever is killed. */
async function startReceiver(name: 'smtp-receiver' | 'api-receiver', book: string, slowMs: number): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(fileURLToPath(import.meta.resolve(`@pawl/example-mailing/${name}`)), [book, String(slowMs)], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  const [printed] = (await once(child.stdout ?? child, 'data')) as [Buffer]
  return { child, port: Number(printed.toString().trim()) }
}

async function openSmtp({ folder, say, isSmall }: WorldOptions): Promise<World> {
  const recipients = recipientsOf(isSmall)
  const book = join(folder, 'smtp-book.jsonl')
  const { child, port } = await startReceiver('smtp-receiver', book, 500)
  const server = `smtp://127.0.0.1:${port}`
  say('first through SMTP: it deduplicates nothing, so a mail in doubt waits for a person')
  return {
    agent: mailingOverSmtp(server), input: { subject, recipients }, configPath: configPath(), env: { MAILING_SMTP: server },
    expectedActions: recipients.length, items: recipients.length, workers: { processes: 3, concurrency: 2, timings: { sendWindowMs: 1_500 } },
    kills: { workers: isSmall ? 1 : 5, everything: true, between: [0.3, 0.85] }, endings: ['completed'],
    async answerDoubt(doubt) {
      const { to } = doubt.args as { to: string[] }
      if (readReceipts(book).some((receipt) => receipt.to === to[0])) return await Promise.resolve('happened' as const)
      return doubt.answerableAtMs + 200 < Date.now() ? 'did_not' : undefined
    },
    prove: async () => await Promise.resolve(proveBook(book, recipients, 'mails handed over to the SMTP server')),
    close: async () => { child.kill(); await once(child, 'exit') },
  }
}

async function openApi({ folder, say, isSmall }: WorldOptions): Promise<World> {
  const recipients = recipientsOf(isSmall)
  const book = join(folder, 'api-book.jsonl')
  const { child, port } = await startReceiver('api-receiver', book, 400)
  const url = `http://127.0.0.1:${port}`
  say('now through an API that honours keys: called again under the same key, nobody is asked')
  return {
    agent: mailingOverApi(url), input: { subject, recipients }, configPath: configPath(), env: { MAILING_API: url },
    expectedActions: recipients.length, items: recipients.length, workers: { processes: 3, concurrency: 2, timings: { sendWindowMs: 1_500 } },
    kills: { workers: isSmall ? 1 : 5, everything: true, between: [0.3, 0.85] }, endings: ['completed'],
    prove: async (ledger, runId) => {
      const proof = proveBook(book, recipients, 'mails sent by the API')
      const [row] = await ledger.query(`select count(*)::integer as n from pawl.events where run_id = $1 and kind = 'action.in_doubt'`, [runId])
      return { ...proof, faults: [...proof.faults, ...(Number(row?.['n']) > 0 ? ['a person was asked, though the API honours keys'] : [])] }
    },
    close: async () => { child.kill(); await once(child, 'exit') },
  }
}

function proveBook(book: string, recipients: readonly string[], what: string): Proof {
  const sent = readReceipts(book).filter((receipt) => receipt.applied)
  const byRecipient = new Map<string, number>()
  for (const receipt of sent) byRecipient.set(receipt.to, (byRecipient.get(receipt.to) ?? 0) + 1)
  const duplicates = sent.length - byRecipient.size
  const lost = recipients.filter((to) => !byRecipient.has(to)).length
  return {
    effects: sent.length, duplicates, lost, faults: [],
    facts: [`${sent.length} ${what}, to ${byRecipient.size} of ${recipients.length} recipients; ${readReceipts(book).length - sent.length} repeats recognised by their key`],
  }
}
