/**
 * The agents of the browser tests' world. Each item's payload names its scene; a mark says that the scene has had its first act, so that what follows
 * does not hang on how often the item's worker was killed meanwhile.
 */
import { agentLoop, defineAgent, type AnyAgent } from '@pawl/harness'
import { z } from 'zod'
import { deskModel } from './desk-model.ts'
import { isMarked, setMark, type WindowPlace } from './place.ts'
import { shopTools } from './shop-tools.ts'

export const scenes = ['refund', 'book', 'payout', 'twice', 'thrice', 'ask', 'reword', 'wander', 'die', 'export'] as const
const scenePayload = z.object({ order: z.string(), does: z.enum(scenes), parcel: z.string().optional(), text: z.string().optional(), cents: z.number().int().optional() })
export type ScenePayload = z.infer<typeof scenePayload>

export const answerSchema = z.object({
  decision: z.enum(['refund', 'replace', 'refuse']).describe('What the customer gets'), cents: z.number().int().min(0).max(50_000).describe('How much is given back'),
  note: z.string().max(200).optional(), tellCustomer: z.boolean(),
})

export function shopAgents({ effectsUrl, folder }: WindowPlace): readonly AnyAgent[] {
  const tools = shopTools(effectsUrl)
  const did = (mark: string): boolean => isMarked(folder, mark)
  const orders = defineAgent({
    name: 'orders', version: '4', inputSchema: z.object({}).loose(), payloadSchema: scenePayload, tools, policy: { maxFailures: 3 },
    async run({ payload: { order, does, parcel = order, text = `Refund of ${order}`, cents = 1_500 }, tools: call, ctx }) {
      const pay = (more: number) => call.payout({ order, iban: 'DE02120300000000202051', cents: cents + more, text })
      const mail = (template: string, body: string) => call.mail({ to: `${order}@example.org`, template, body })
      /** Once, then the attempt fails. */
      const first = async (act: () => Promise<unknown>): Promise<void> => {
        if (did(`${does}-${order}`)) return
        await act()
        setMark(folder, `${does}-${order}`)
        throw new Error('the shop’s session ran out')
      }
      switch (does) {
        case 'refund': await call.findOrder({ order }); return { resultRef: (await call.refund({ order, cents })).ref }
        case 'book': return { resultRef: (await call.book({ parcel, street: '12 Market Street' })).ref }
        case 'payout': return { resultRef: (await pay(0)).ref }
        case 'twice': {
          // The second amount is another one once the mark is there.
          const both = await Promise.all([pay(0), pay(did(`raised-${order}`) ? 20_000 : 100)])
          return { result: both.map(({ ref }) => ref) }
        }
        case 'thrice': {
          const all = await Promise.allSettled([1, 2, 3].map(async (n) => await pay(n)))
          return { result: all.map((one) => (one.status === 'fulfilled' ? one.value.ref : 'rejected')) }
        }
        case 'ask': {
          const { decision, cents: given } = await ctx.ask(`Order ${order}: the parcel came broken, and the customer wants the money back.\nWhat does the customer get?`, answerSchema)
          if (decision === 'refund') await call.refund({ order, cents: given })
          return { result: { decision, given } }
        }
        case 'reword': await first(() => mail('sorry', 'We are sorry.')); return { resultRef: (await mail('sorry', did(`mended-${order}`) ? 'We are sorry.' : 'We are very sorry.')).ref }
        case 'wander': await first(() => mail('sorry', 'We are sorry.')); return { resultRef: (await mail('apology', 'We apologise.')).ref }
        case 'die': if (!did(`cured-${order}`)) process.kill(process.pid, 'SIGKILL'); return { resultRef: (await call.refund({ order, cents })).ref }
        case 'export': await call.export({ order }); return { result: 'exported' }
      }
    },
  })
  const mailing = defineAgent({
    name: 'mailing', version: '3', inputSchema: z.object({ campaign: z.string() }), payloadSchema: z.object({ to: z.string() }), tools: { mail: tools.mail },
    async run({ input, payload: { to }, tools: call }) {
      return { resultRef: (await call.mail({ to, template: input.campaign, body: `Hello ${to}` })).ref }
    },
  })
  const desk = defineAgent({
    name: 'desk', version: '2', inputSchema: z.object({ shop: z.string() }), payloadSchema: z.object({ order: z.string(), mood: z.enum(['thorough', 'confused']) }),
    tools: { findOrder: tools.findOrder, refund: tools.refund, mail: tools.mail },
    run: agentLoop({ model: deskModel(), system: 'You handle complaints of a small shop. Look the order up, refund what is owed, then write to the customer.', maxTurns: 12, prices: { input: 3, output: 15 } }),
  })
  return [orders, mailing, desk]
}
