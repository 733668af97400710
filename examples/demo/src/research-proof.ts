/** What became of a research run outside the ledger: notes, entities and mails once each, and no decision asked of the model again. Pure functions of files and rows. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decode } from '@pawl/core'
import { readReceipts } from '@pawl/example-mailing'
import { factOf, readEntities, readMemoryReceipts } from '@pawl/example-research'
import type { Ledger } from '@pawl/ledger'
import type { Proof, Thinking } from './world.ts'

export interface ResearchPlace {
  readonly root: string
  readonly books: { readonly model: string; readonly memory: string; readonly graph: string; readonly mail: string }
  readonly topics: readonly string[]
  /** The topics whose notes a person did not let be published. */
  readonly refused: readonly string[]
}

/** Notes by their path below the folder. */
export function listNotes(root: string): Map<string, string> {
  return new Map(['drafts', 'published'].flatMap((place) => (existsSync(join(root, place)) ? readdirSync(join(root, place)) : []).filter((name) => name.endsWith('.md'))
    .map((name) => [`${place}/${name}`, readFileSync(join(root, place, name), 'utf8')] as const)))
}

export async function proveResearch(ledger: Ledger, runId: string, place: ResearchPlace): Promise<Proof> {
  const parts = [proveNotes(place), proveMemory(place), await proveMails(ledger, runId, place)]
  const thinking = await proveThinking(ledger, runId, place)
  const sum = (of: (part: Counted) => number): number => parts.reduce((total, part) => total + of(part), 0)
  return {
    effects: sum((part) => part.effects), duplicates: sum((part) => part.duplicates), lost: sum((part) => part.lost), thinking: thinking.figures,
    facts: [...parts.map((part) => part.fact), thinking.fact], faults: [...parts.flatMap((part) => part.faults), ...thinking.faults],
  }
}

interface Counted {
  readonly effects: number
  readonly duplicates: number
  readonly lost: number
  readonly fact: string
  readonly faults: readonly string[]
}

const times = (text: string, part: string): number => text.split(part).length - 1

/** Three writes made a note: its text, the sentence that was edited in (twice would be two sentences), the move (a no leaves it where it is). */
function proveNotes({ root, topics, refused }: ResearchPlace): Counted {
  const notes = listNotes(root)
  let effects = 0
  let duplicates = 0
  let lost = 0
  const faults: string[] = []
  for (const topic of topics) {
    const [right, wrong] = refused.includes(topic) ? ['drafts', 'published'] : ['published', 'drafts']
    const note = notes.get(`${right}/${topic}.md`)
    if (notes.has(`${wrong}/${topic}.md`)) faults.push(`the note on ${topic} is in ${wrong}, where it ${refused.includes(topic) ? 'was not allowed' : 'is no longer'}`)
    const found = note === undefined ? [0] : [times(note, factOf(topic, 1)), times(note, factOf(topic, 2)), times(note, 'In short:')]
    effects += Math.max(...found) + 1 + (refused.includes(topic) ? 0 : 1)
    duplicates += Math.max(0, Math.max(...found) - 1)
    lost += found.some((n) => n === 0) ? 1 : 0
  }
  return { effects, duplicates, lost, faults, fact: `${notes.size} notes, each with its facts and one finding; ${refused.length === 0 ? 'all are published' : refused.length === 1 ? 'the one a person said no to is still a draft' : `the ${refused.length} a person said no to are still drafts`}` }
}

function proveMemory({ books, topics }: ResearchPlace): Counted {
  const names = readEntities(books.graph)
  const carriedOut = readMemoryReceipts(books.memory).filter((receipt) => receipt.carriedOut)
  const strangers = names.filter((name) => !topics.includes(name))
  const keys = new Set(carriedOut.map((receipt) => receipt.key))
  return {
    effects: names.length, duplicates: names.length - new Set(names).size, lost: topics.filter((topic) => !names.includes(topic)).length,
    faults: [...strangers.map((name) => `memory holds "${name}", which nobody asked for`), ...(keys.size > topics.length ? [`memory was called under ${keys.size} keys for ${topics.length} entities`] : [])],
    fact: `${names.length} entities in memory; its server carried out ${carriedOut.length} calls under ${keys.size} keys, ${carriedOut.length - keys.size} of them repeats under the same key`,
  }
}

async function proveMails(ledger: Ledger, runId: string, { books, topics }: ResearchPlace): Promise<Counted> {
  const mails = readReceipts(books.mail)
  const readers = topics.map((topic) => `${topic}@readers.example.com`)
  const counts = readers.map((to) => mails.filter((mail) => mail.to === to).length)
  const [row] = await ledger.query(`select extract(epoch from max(finished_at)) * 1000 as at from pawl.items where run_id = $1 and kind = 'work'`, [runId])
  const early = mails.filter((mail) => mail.atMs < Number(row?.['at'])).length
  return {
    effects: mails.length, duplicates: mails.length - counts.filter((n) => n > 0).length, lost: counts.filter((n) => n === 0).length,
    faults: early > 0 ? [`${early} mails left before the last question was answered`] : [],
    fact: `${mails.length} mails, all after the last question was answered`,
  }
}

interface Asked {
  readonly n: number
  readonly outcome: string
  readonly label: string | null
  readonly why: string | null
}

/** The model writes the number of the request into its words, so each recorded turn says which request it came from. */
async function proveThinking(ledger: Ledger, runId: string, { books }: ResearchPlace): Promise<{ figures: Thinking; fact: string; faults: string[] }> {
  const requests = readFileSync(books.model, 'utf8').split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as Asked)
  const answered = requests.filter((one) => one.outcome === 'answered')
  const rows = await ledger.query(`select i.key, i.attempts, t.n, t.decision from pawl.turns t join pawl.items i on i.run_id = t.run_id and i.seq = t.item_seq where t.run_id = $1`, [runId])
  const recorded = new Map(rows.map((row) => [`${String(row['key'])}#${Number(row['n'])}`, Number(/^\w[^(]*\((\d+)\)/.exec((decode(String(row['decision'])) as { text: string }).text)?.[1])]))
  const faults = requests.filter((one) => one.outcome !== 'answered').map((one) => `request ${one.n} to the model: ${one.outcome}${one.why === null ? '' : `, ${one.why}`}`)
  let interruptedTurns = 0
  let repeatedDecisions = 0
  for (const { n, label } of answered) {
    const source = recorded.get(label ?? '')
    if (source === undefined || n < source) interruptedTurns++
    else if (n > source) repeatedDecisions++
  }
  for (const [label, source] of recorded) if (!answered.some((one) => one.label === label && one.n === source)) faults.push(`turn ${label} is recorded with a decision the model never made`)
  faults.push(...(await listOverasked(ledger, runId, answered)))
  if (repeatedDecisions > 0) faults.push(`the model was asked again for ${repeatedDecisions} decisions that were recorded`)
  return {
    figures: { turns: recorded.size, modelCalls: answered.length, interruptedTurns, repeatedDecisions }, faults,
    fact: `${recorded.size} turns recorded, ${answered.length} model calls by its server's log: ${interruptedTurns} were interrupted before their record, ${repeatedDecisions} asked again for one that was recorded`,
  }
}

/** An item's model calls never exceed its turns and the attempts of it that were cut short: claims that ended neither with the item nor with its waiting for a person. */
async function listOverasked(ledger: Ledger, runId: string, answered: readonly Asked[]): Promise<string[]> {
  const rows = await ledger.query(`select i.key, i.attempts, (select count(*) from pawl.turns t where t.run_id = i.run_id and t.item_seq = i.seq)::integer as turns,
    (select count(*) from pawl.events e where e.run_id = i.run_id and e.item_seq = i.seq and e.kind = 'item.blocked')::integer as waits
    from pawl.items i where i.run_id = $1 and i.kind = 'work'`, [runId])
  return rows.flatMap((row) => {
    const calls = answered.filter((one) => one.label?.startsWith(`${String(row['key'])}#`)).length
    const [turns, cut] = [Number(row['turns']), Number(row['attempts']) - 1 - Number(row['waits'])]
    return calls <= turns + cut ? [] : [`item ${String(row['key'])}: ${calls} model calls, but ${turns} turns and ${cut} attempts that were cut short`]
  })
}
