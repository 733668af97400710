/**
 * What a caller may change. Not among them: compensation, which takes back what was done and is a person's word; and migrations or the
 * ledger's own state. A start needs a key of the caller's own: a model that lost an answer calls again, and that must be the same run.
 */
import { actionToWire, doubtAnswers, itemToWire, questionToWire, requestValues } from '@pawl/client'
import { BLOCKED_REASONS } from '@pawl/core'
import { z } from 'zod'
import { run } from './read-tools.ts'
import { pawlTool } from './tool.ts'

const note = z.string().max(2_000).optional().describe('Kept with the event: how you know.')
const reason = z.string().max(2_000).optional().describe('Kept with the event.')

const calls = z.array(z.strictObject({ actionId: z.number().int(), digest: z.string() })).min(1).max(1_000).describe('The calls you looked at, each with the actionId and the digest its inbox entry shows.')

/** Of each call what became of it: an answer that came too late is no error of the others. */
const decide = (verb: 'approve' | 'reject', title: string, description: string) => pawlTool({
  name: verb, title, level: 'operate', isDestructive: verb === 'approve', isIdempotent: true, description,
  input: z.strictObject({ run, calls, note }),
  run: async (client, input) => ({ decisions: await client[verb](input.run, input.calls, { note: input.note }) }),
})

export const writeTools = [
  pawlTool({
    name: 'start_run', title: 'Start a run', level: 'run', isDestructive: true, isIdempotent: true,
    description: 'Starts a run of an agent and says its id at once; use watch to wait for it. The run does what its agent does: it may send mail or move money.',
    input: z.strictObject({
      agent: z.string(), input: z.unknown().describe("The agent's input, as its schema wants it."),
      idempotencyKey: z.string().min(1).max(255).describe('A text of your own that names this piece of work. Called again with the same key and the same request it is the same run, and nothing is started twice.'),
      items: z.array(z.strictObject({ key: z.string(), payload: z.unknown() })).optional().describe('Items in place of the agent\'s own split.'),
      labels: z.record(z.string(), z.string()).optional(), version: z.string().optional().describe("The agent's version; default the newest known."),
    }),
    async run(client, { agent, input, items, ...options }) {
      const valueOf = requestValues()
      const seeds = items?.map((item) => ({ key: item.key, payload: valueOf(item.payload) }))
      return { ...(await client.startRun(agent, valueOf(input), { ...options, items: seeds })) }
    },
  }),
  pawlTool({
    name: 'answer', title: 'Answer a question', level: 'operate', isDestructive: true, isIdempotent: true,
    description: 'Answers a question of an agent, as the inbox lists it. The answer must fit its JSON Schema. The first answer stands; a later one is told whose it was.',
    input: z.strictObject({ run, question: z.number().int().describe('The id of the question.'), answer: z.unknown().describe('A JSON value that fits answerSchema.'), note }),
    run: async (client, input) => questionToWire(await client.answer(input.run, input.question, requestValues()(input.answer), { note: input.note })),
  }),
  decide('approve', 'Say yes to calls that wait for it', 'Says yes to exactly the calls shown in the inbox, by their digests; one that changed since is not approved. A yes lets it happen: it may send mail or move money.'),
  decide('reject', 'Say no to calls that wait for a yes', 'Says no to exactly the calls shown in the inbox: they are never sent, and their agent reads the note.'),
  pawlTool({
    name: 'settle', title: 'Say what became of a call', level: 'operate', isDestructive: true,
    description: 'For a call in doubt, as the inbox lists it: happened (with what it returned), did_not (it is sent again), or abandon (nobody can find out). Say only what you have seen at the receiving system; attempt and evidence are those of the entry you looked at.',
    input: z.strictObject({
      run, action: z.number().int(), answer: z.enum(doubtAnswers), attempt: z.number().int().min(1), evidence: z.number().int().min(0).describe('How many entries of evidence it showed.'),
      result: z.unknown().optional().describe('With happened: what the call returned.'), note,
    }),
    run: async (client, { run: runId, action, result, ...settlement }) => actionToWire(await client.settle(runId, action, { ...settlement, ...(result === undefined ? {} : { result: requestValues()(result) }) })),
  }),
  pawlTool({
    name: 'release_item', title: 'Let a blocked item go on, or end it', level: 'operate', isDestructive: true,
    description: 'For a blocked item, as the inbox lists it with its verbs: resume lets it run again (nothing committed is repeated), fail ends it. attempts and reason are those of the entry you looked at: an item that went on meanwhile is left alone.',
    input: z.strictObject({ run, item: z.number().int(), verb: z.enum(['resume', 'fail']), attempts: z.number().int().min(0), reason: z.enum(BLOCKED_REASONS), newCalls: z.boolean().optional().describe('With resume, of an item that diverged: what it asks for now are new calls.'), note }),
    run: async (client, { run: runId, item, verb, attempts, reason: seen, ...options }) => itemToWire(await client.releaseItem(runId, item, verb, { ...options, shown: { attempts, reason: seen } })),
  }),
  pawlTool({
    name: 'pause_run', title: 'Pause a run', level: 'operate', isIdempotent: true, description: 'Nothing new is begun; calls under way finish. resume_run lets it go on.',
    input: z.strictObject({ run }), run: async (client, input) => ({ ...(await client.pause(input.run)) }),
  }),
  pawlTool({
    name: 'resume_run', title: 'Resume a run', level: 'operate', isDestructive: true,
    description: 'Lets a run go on: unpauses it; of a failed or cancelled run the failed and cancelled items go round again. Nothing committed is repeated. With dryRun it only says what would be skipped, called again, verified and asked.',
    input: z.strictObject({ run, dryRun: z.boolean().optional() }),
    run: async (client, input) => ({ ...(await client.resume(input.run, { dryRun: input.dryRun })) }),
  }),
  pawlTool({
    name: 'cancel_run', title: 'Cancel a run', level: 'operate', isDestructive: true,
    description: 'Ends a run now. What it did stays done; calls under way are settled after the fact. With dryRun it only says what would happen.',
    input: z.strictObject({ run, reason, dryRun: z.boolean().optional() }),
    run: async (client, { run: runId, ...options }) => ({ ...(await client.cancel(runId, options)) }),
  }),
]
