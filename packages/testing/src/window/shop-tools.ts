/** A small shop's tools, one per way a call can come to wait for a person. All of them go out to the effects server, which counts what it received. */
import { NotApplied } from '@pawl/core'
import { applied, defineTool, notApplied, type Tool, type ToolDefinition } from '@pawl/tools'
import { z } from 'zod'
import type { EffectClass } from '../effects-log.ts'

const answer = z.object({ ref: z.string() })
type Answer = z.infer<typeof answer>

const order = z.object({ order: z.string() })
const money = z.object({ order: z.string(), cents: z.number().int() })
const parcel = z.object({ parcel: z.string(), street: z.string() })
const letter = z.object({ to: z.string(), template: z.string(), body: z.string() })
const payout = z.object({ order: z.string(), iban: z.string(), cents: z.number().int(), text: z.string() })

type Sent<I> = Omit<ToolDefinition<I, Answer>, 'outputSchema' | 'execute' | 'version'> & { readonly via: EffectClass; readonly op: string; readonly subject: (input: I) => string }

const refusals = [400, 401, 422]

function sentTo<I>(effectsUrl: string, { via, op, subject, ...definition }: Sent<I>): Tool<I, Answer> {
  return defineTool<I, Answer>({
    version: '1', timeout: '3s', settleWindow: '500ms', guarded: true, retry: { attempts: 2, firstDelayMs: 50 }, outputSchema: answer, ...definition,
    async execute(input, { key, epoch, attempt, fetch }) {
      const response = await fetch(`${effectsUrl}/${via}/${op}/${encodeURIComponent(subject(input))}`, {
        method: 'POST', body: JSON.stringify(input), headers: { 'idempotency-key': key, 'x-epoch': String(epoch), 'x-attempt': String(attempt) },
      })
      if (refusals.includes(response.status)) throw new NotApplied(`the receiver refused ${op} with ${response.status}`)
      if (response.status !== 200) throw new Error(`the receiver answered ${response.status}`)
      return answer.parse(await response.json())
    },
  })
}

export function shopTools(effectsUrl: string) {
  const byOrder = { subject: ({ order: id }: { order: string }) => id }
  const takeBack = sentTo(effectsUrl, {
    name: 'shop.take-back-refund', description: 'Takes a refund back', effect: 'idempotent', concurrent: true, inputSchema: order, via: 'keyed', op: 'take-back', ...byOrder, key: ({ order: id }) => [id],
  })
  return {
    findOrder: sentTo(effectsUrl, { name: 'shop.find-order', description: 'Looks an order up', effect: 'read', inputSchema: order, via: 'read', op: 'find', ...byOrder }),
    refund: sentTo(effectsUrl, {
      name: 'shop.refund', description: 'Refunds an order', effect: 'idempotent', concurrent: true, keyWindow: '24h', inputSchema: money, via: 'keyed', op: 'refund', ...byOrder,
      key: ({ order: id }) => [id], undo: { tool: takeBack, input: ({ input }) => ({ order: input.order }) },
    }),
    /** Nobody can be asked whether it happened. */
    book: sentTo(effectsUrl, {
      name: 'courier.book', description: 'Books a courier for a parcel', effect: 'non-idempotent', settleWindow: '4s', inputSchema: parcel, via: 'opaque', op: 'book',
      subject: ({ parcel: id }) => id, key: ({ parcel: id }) => [id],
    }),
    payout: sentTo(effectsUrl, {
      name: 'bank.payout', description: 'Pays money out', effect: 'non-idempotent', irreversible: true, approval: 'always', inputSchema: payout, via: 'lookup', op: 'payout', ...byOrder,
      async verify(input, { key, fetch }) {
        const response = await fetch(`${effectsUrl}/lookup/payout/${encodeURIComponent(input.order)}`, { headers: { 'idempotency-key': key } })
        return response.status === 200 ? applied(answer.parse(await response.json())) : notApplied()
      },
    }),
    mail: sentTo(effectsUrl, {
      name: 'mail.send', description: 'Sends one letter', effect: 'idempotent', concurrent: true, inputSchema: letter, via: 'keyed', op: 'mail', subject: ({ to }) => to, key: ({ to, template }) => [to, template],
    }),
    /** What it returns is more than the ledger keeps. */
    export: defineTool({
      name: 'crm.export', version: '1', description: 'Exports a customer’s history', effect: 'read', inputSchema: order, outputSchema: z.object({ text: z.string() }),
      execute: () => Promise.resolve({ text: 'x'.repeat(10_500_000) }),
    }),
  }
}
export type ShopTools = ReturnType<typeof shopTools>
