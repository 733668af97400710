/** Researches one question per item: a model reads, writes a note, remembers what it is about, asks to publish, and hands a mail in for the end of the run. */
import { agentLoop, defineAgent } from 'pawl'
import { z } from 'zod'
import { languageModel } from './model.ts'
import type { ModelSettings } from './settings.ts'
import type { ResearchTools } from './tools.ts'

const topic = z.string().regex(/^[a-z0-9-]{1,60}$/, 'must be of a-z, 0-9 and "-": it names files')

export const researchInput = z.object({ topics: z.array(topic).min(1) })

const system = [
  'You research one question, from the sources you are given and nothing else. Work in this order:',
  '1. Read every source.',
  '2. Write the note to its draft path: each fact of the sources, then a heading "## Finding". Beside it, create one entity named after the topic in memory.',
  '3. Edit the draft: below that heading, one sentence that begins with "In short:".',
  '4. Move the draft to its published path. A person is asked first; a no is final, then the draft stays.',
  '5. Hand in one mail to the reader, with the subject you are given. It is sent when the whole run is done.',
  '6. Say in one sentence what you found.',
].join('\n')

export const researchAgent = ({ tools }: Pick<ResearchTools, 'tools'>, model: ModelSettings) => defineAgent({
  name: 'research', version: '1',
  inputSchema: researchInput,
  payloadSchema: z.object({ question: z.string(), sources: z.array(z.string()), draft: z.string(), published: z.string(), reader: z.email(), subject: z.string() }),
  tools,
  *split({ topics }) {
    for (const one of topics) {
      yield {
        key: one,
        payload: {
          question: `What is known about ${one}?`, sources: [1, 2].map((n) => `library/${one}-${n}.txt`), draft: `drafts/${one}.md`, published: `published/${one}.md`,
          reader: `${one}@readers.example.com`, subject: `Research: ${one}`,
        },
      }
    }
  },
  run: agentLoop({ model: () => languageModel(model), modelVersion: model.id, system, maxTurns: 20, contextTokens: 12_000 }),
  // As providers' rate limits want it.
  policy: { maxConcurrency: 4 },
})
