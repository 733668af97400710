/** Items as the ledger keeps them: keys and payloads checked, each refusal naming the item. Pure. */
import { encode, limits, PawlError } from '@pawl/core'
import type { AnyAgent, ItemSeed } from './define-agent.ts'

export function encodeItems(agent: AnyAgent, items: readonly ItemSeed<unknown>[]): { key: string; payload: string }[] {
  return items.map((item, i) => {
    if (typeof item?.key !== 'string' || item.key.length === 0 || item.key.length > limits.itemKeyChars || item.key.includes('\u0000')) {
      throw new PawlError('BAD_ITEM_KEY', `Item ${i + 1}: its key must be text of 1 to ${limits.itemKeyChars} characters without NUL.`, 'fail', { index: i })
    }
    const parsed = agent.payloadSchema.safeParse(item.payload)
    if (!parsed.success) {
      const issue = parsed.error.issues[0]
      throw new PawlError('BAD_PAYLOAD', `Item "${item.key}": payload.${issue?.path.join('.') ?? ''} ${issue?.message ?? 'does not fit payloadSchema'}.`, 'fail', { key: item.key })
    }
    return { key: item.key, payload: encode(parsed.data, { what: `payload of item "${item.key}"`, maxBytes: limits.payloadBytes }) }
  })
}
