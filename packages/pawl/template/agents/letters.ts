/**
 * An agent that writes a letter to everybody on a list and posts it when a person said yes. Kill anything while it works, `kill -9` included,
 * and start it again: no letter is written or posted twice, and none is forgotten.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { applied, defineAgent, defineTool, notApplied } from 'pawl'
import { z } from 'zod'

const root = join(import.meta.dirname, '..', 'letters')

/** `idempotent`: written again with the same words, the file is the same. A tool says what it does to the world; Pawl resumes by that. */
const writeLetter = defineTool({
  name: 'letter.write', version: '1', description: 'Write a letter into the folder of drafts',
  effect: 'idempotent', concurrent: true,
  inputSchema: z.object({ to: z.string().regex(/^[\w .-]{1,60}$/), text: z.string() }),
  outputSchema: z.object({ draft: z.string() }),
  key: ({ to }) => [to],
  async execute({ to, text }, { key }) {
    const draft = `drafts/${to}.txt`
    const half = join(root, `${draft}.${key.slice(-8)}`)
    mkdirSync(join(root, 'drafts'), { recursive: true })
    writeFileSync(half, text)
    renameSync(half, join(root, draft))
    return { draft }
  },
})

const book = join(root, 'posted.txt')

/** `non-idempotent`, since a letter posted twice is two letters. `verify` lets Pawl find out about a call that was cut off, without asking anybody. */
const postLetter = defineTool({
  name: 'letter.post', version: '1', description: 'Post a letter; it cannot be called back',
  effect: 'non-idempotent', irreversible: true, approval: 'always', timeout: '5s', settleWindow: '1s',
  inputSchema: z.object({ to: z.string(), draft: z.string() }),
  outputSchema: z.object({ postmark: z.string() }),
  key: ({ to }) => [to],
  async execute({ to, draft }, { key }) {
    appendFileSync(book, `${key} ${to}: ${readFileSync(join(root, draft), 'utf8').length} characters\n`)
    return { postmark: key }
  },
  async verify(_input, { key }) {
    const isPosted = existsSync(book) && readFileSync(book, 'utf8').includes(`${key} `)
    return isPosted ? applied({ postmark: key }) : notApplied()
  },
})

export const letters = defineAgent({
  name: 'letters', version: '1',
  inputSchema: z.object({ to: z.array(z.string()) }),
  payloadSchema: z.object({ to: z.string() }),
  tools: { writeLetter, postLetter },
  // A run falls into items, and each goes on by itself.
  *split({ to }) {
    for (const name of to) yield { key: name, payload: { to: name } }
  },
  // Starts from its first line on every attempt; calls that are in the ledger return at once.
  async run({ payload, tools }) {
    const { draft } = await tools.writeLetter({ to: payload.to, text: `Dear ${payload.to},\n\nthis letter was written once.\n` })
    const { postmark } = await tools.postLetter({ to: payload.to, draft })
    return { resultRef: postmark }
  },
})
