/**
 * What the scripted model decides, from the conversation alone, as a model would: it knows nothing of the ledger. Pure. Each decision is labelled with item
 * and turn; the model server words, orders and numbers it differently on every request and writes the number of the request into the text, so that
 * a recorded turn says which request it came from.
 */
import type { Conversation, Decision } from 'pawl/testing'
import { z } from 'zod'

const item = /# Item \d+ of the run: (\S+)\n(\{.*\})/
const payload = z.object({ sources: z.array(z.string()), draft: z.string(), published: z.string(), reader: z.string(), subject: z.string() })
const fact = /Fact \d: [^.\\"]+\./g

/** Throws where the prompt names no item: the model server answers with a 500 and says so in its log. */
export function decide(conversation: Conversation): Decision {
  const [, topic, json] = item.exec(conversation.text) ?? []
  if (topic === undefined || json === undefined) throw new Error('the prompt names no item')
  const given = payload.parse(JSON.parse(json))
  const turn = conversation.turns.filter((one) => one.role === 'assistant').length + 1
  const facts = [...new Set(conversation.turns.flatMap((one) => (one.role === 'tool' ? one.results.flatMap(({ text }) => text.match(fact) ?? []) : [])))].toSorted()
  return { label: `${topic}#${turn}`, ...step(turn, topic, given, facts) }
}

function step(turn: number, topic: string, given: z.infer<typeof payload>, facts: readonly string[]): Decision {
  const finding = `In short: ${facts.length} facts are known about ${topic}.`
  switch (turn) {
    case 1: return { text: 'I read the sources.', calls: given.sources.map((path) => ({ name: 'read_text_file', input: { path } })) }
    case 2: return {
      text: 'I write the note.', reword: ['content'],
      calls: [
        { name: 'write_file', input: { path: given.draft, content: `# ${topic}\n\n${facts.join('\n')}\n\n## Finding\n` } },
        { name: 'create_entities', input: { entities: [{ name: topic, entityType: 'topic', observations: facts }] } },
      ],
    }
    case 3: return { text: 'I add the finding.', calls: [{ name: 'edit_file', input: { path: given.draft, edits: [{ oldText: '## Finding', newText: `## Finding\n\n${finding}` }] } }] }
    case 4: return { text: 'I publish it.', calls: [{ name: 'move_file', input: { source: given.draft, destination: given.published } }] }
    case 5: return { text: 'I tell the reader.', reword: ['text'], calls: [{ name: 'mail', input: { to: [given.reader], subject: given.subject, text: finding } }] }
    default: return { text: finding }
  }
}
