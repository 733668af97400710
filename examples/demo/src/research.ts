/** A model researches questions over MCP tools; workers die at its turns, between them, and in the middle of its calls. The receivers' books and the model server's log are the judge. */
import { fileURLToPath } from 'node:url'
import { openTools, readSettings, researchAgent, startOutside } from '@pawl/example-research'
import { readReceipts } from '@pawl/example-mailing'
import { decode } from '@pawl/core'
import type { Ledger } from '@pawl/ledger'
import { listNotes, proveResearch } from './research-proof.ts'
import type { Doubt, Example, World, WorldOptions } from './world.ts'

const names = ['lighthouses', 'ratchets', 'tide-mills', 'semaphores', 'canal-locks', 'barometers', 'sundials', 'windlasses']
/** Turns of one item: read, write, edit, publish, mail, say. */
const turns = [1, 2, 3, 4, 5, 6]
const actionsPerTopic = 7

export const research: Example = {
  name: 'research',
  about: 'A model with MCP tools researches questions, asks a person before it publishes and hands mails in for the end; killed at its turns, no decision is asked for twice, no effect happens twice.',
  worlds: [openResearch],
}

async function openResearch({ folder, say, isSmall, isByHand, random }: WorldOptions): Promise<World> {
  const topics = isSmall ? names.slice(0, 2) : names
  // A person says no to one of them.
  const refused = topics[Math.floor(random() * topics.length)] ?? ''
  const outside = await startOutside(`${folder}/research`, topics, { model: 150, memory: 500, mail: 400 })
  // The scripted model speaks both APIs.
  const provider = random() < 0.5 ? 'openai-compatible' : 'anthropic'
  const env = { ...outside.env, PAWL_MODEL: `${provider}:scripted-1`, PAWL_MODEL_KEY: 'none' }
  const settings = readSettings(env)
  const tools = await openTools(settings)
  const failpoints = plan(topics.length, isSmall, random)
  const where = { root: settings.folder, books: outside.books, topics }
  say(`a model of its own process decides, asked over the ${provider} API; ${failpoints.length} processes will kill themselves: ${failpoints.join(', ')}`)
  return {
    agent: researchAgent(tools, settings.model), input: { topics },
    configPath: fileURLToPath(import.meta.resolve('@pawl/example-research/config')), env,
    expectedActions: topics.length * actionsPerTopic - 1, items: topics.length, workers: { processes: isSmall ? 2 : 3, concurrency: 2, timings: { sendWindowMs: 1_000 } },
    kills: { workers: isSmall ? 1 : 5, everything: !isSmall && !isByHand, between: isSmall ? [0, 0.25] : [0.1, 0.9], anyMoment: true }, failpoints,
    endings: ['completed'],
    approve: ({ args }) => ((args as { source: string }).source === `drafts/${refused}.md` ? 'rejected' : 'approved'),
    answerDoubt: async (doubt) => await Promise.resolve(lookAt(doubt, where)),
    prove: async (ledger, runId) => await proveResearch(ledger, runId, { ...where, refused: isByHand ? await listRefused(ledger, runId) : [refused] }),
    close: async () => { await tools.close(); await outside.close() },
  }
}

/** One death at each end of each turn (after the model decided, after that was recorded), and some in the middle of calls; the small form takes one of each. */
function plan(items: number, isSmall: boolean, random: () => number): string[] {
  const boundaries = turns.flatMap((turn) => ['after_decision', 'after_turn'].map((at) => `${at}[item=${1 + Math.floor(random() * items)}][turn=${turn}]:kill`))
  const calls = ['after_answer[tool=files.edit_file]:kill', 'before_send[tool=memory.create_entities]:kill', 'after_answer[tool=files.move_file]:kill', 'after_answer[tool=mail.smtp]:kill']
  if (!isSmall) return [...boundaries, ...calls]
  return [boundaries[Math.floor(random() * boundaries.length)], calls[Math.floor(random() * calls.length)]].filter((one) => one !== undefined)
}

/** What a person who answers for himself said no to. */
async function listRefused(ledger: Ledger, runId: string): Promise<string[]> {
  const rows = await ledger.query(`select args from pawl.actions where run_id = $1 and status = 'rejected'`, [runId])
  return rows.map((row) => /^drafts\/(.*)\.md$/.exec((decode(String(row['args'])) as { source: string }).source)?.[1] ?? '')
}

/** What a person sees who looks at the mailbox or the folder. */
function lookAt({ tool, args, answerableAtMs }: Doubt, { root, books }: { root: string; books: { mail: string } }): 'happened' | 'did_not' | undefined {
  const happened = hasHappened(tool, args, root, books.mail)
  if (happened) return 'happened'
  return answerableAtMs + 200 < Date.now() ? 'did_not' : undefined
}

function hasHappened(tool: string, args: unknown, root: string, mailBook: string): boolean {
  const notes = listNotes(root)
  switch (tool) {
    case 'mail.smtp': return readReceipts(mailBook).some((receipt) => receipt.to === (args as { to: string[] }).to[0])
    case 'files.move_file': return notes.has((args as { destination: string }).destination)
    case 'files.edit_file': {
      const { path, edits } = args as { path: string; edits: { newText: string }[] }
      return edits.every(({ newText }) => notes.get(path)?.includes(newText) === true)
    }
    default: return false
  }
}

