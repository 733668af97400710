/** Everything a start request can be refused for, found before anything is written. Pure. */
import { canonical, encode, limits, PawlError } from '@pawl/core'
import { runPolicy, type RunPolicy } from '@pawl/ledger'
import { createHash, type Hash } from 'node:crypto'
import { z } from 'zod'
import type { AnyAgentContract, ChosenAgent } from './agents.ts'
import type { ItemSeed, RunPolicyRequest } from './contract.ts'

export interface EncodedItem {
  readonly key: string
  readonly payload: string
}

/** The ledger's text columns take neither NUL nor lone surrogates; replaced silently, two keys would become one. */
const isKeepable = (text: string): boolean => !text.includes('\u0000') && !/\p{Surrogate}/u.test(text)

export function firstIssue(what: string, error: z.ZodError): string {
  const issue = error.issues[0]
  return `${[what, ...(issue?.path ?? [])].join('.')}: ${issue?.message ?? 'does not fit'}`
}

export function checkKey(key: string | undefined): string | null {
  if (key === undefined) return null
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (typeof key !== 'string' || key.length === 0 || key.length > 255 || key !== key.trim() || /[\u0000-\u001f\u007f]/.test(key) || !isKeepable(key)) {
    throw new PawlError('BAD_IDEMPOTENCY_KEY', 'The Idempotency-Key must be text of 1 to 255 characters without control characters and without space at its ends. A UUID will do.')
  }
  return key
}

export function encodeInput(agent: ChosenAgent, input: unknown): string {
  let value = input
  if (agent.contract !== undefined) {
    const parsed = agent.contract.inputSchema.safeParse(input)
    if (!parsed.success) throw new PawlError('BAD_INPUT', `The input does not fit agent "${agent.name}" version ${agent.version}: ${firstIssue('input', parsed.error)}.`, 'tell', { agent: agent.name })
    value = parsed.data
  }
  return encode(value, { what: 'input', maxBytes: limits.payloadBytes })
}

export function encodeItem(contract: AnyAgentContract | undefined, item: ItemSeed, where: string): EncodedItem {
  const key: unknown = item?.key
  if (typeof key !== 'string' || key.length === 0 || key.length > limits.itemKeyChars || !isKeepable(key)) {
    const kind = typeof key === 'string' ? (key.length > limits.itemKeyChars ? `text of ${key.length} characters: "${key.slice(0, 40)}…"` : JSON.stringify(key)) : key === undefined ? 'missing' : `a ${typeof key}`
    throw new PawlError('BAD_ITEM_KEY', `${where}: its key is ${kind}. It must be text of 1 to ${limits.itemKeyChars} characters without NUL or lone surrogates.`)
  }
  let payload: unknown = item.payload
  if (contract !== undefined) {
    const parsed = contract.payloadSchema.safeParse(payload)
    if (!parsed.success) throw new PawlError('BAD_PAYLOAD', `${where} ("${key}"): ${firstIssue('payload', parsed.error)}.`, 'tell', { key })
    payload = parsed.data
  }
  return { key, payload: encode(payload, { what: `${where} ("${key}"): its payload`, maxBytes: limits.payloadBytes }) }
}

/** All items of one request. Throws `DUPLICATE_KEYS` naming up to five. */
export function encodeItems(contract: AnyAgentContract | undefined, items: readonly ItemSeed[]): EncodedItem[] {
  if (items.length > limits.itemsPerRun) throw tooManyItems()
  const seen = new Set<string>()
  const twice = new Set<string>()
  const encoded = items.map((item, i) => {
    const each = encodeItem(contract, item, `Item ${i + 1}`)
    if (seen.has(each.key)) twice.add(each.key)
    seen.add(each.key)
    return each
  })
  if (twice.size > 0) throw duplicateKeys([...twice])
  return encoded
}

export const tooManyItems = (): PawlError =>
  new PawlError('TOO_MANY_ITEMS', `A run takes at most ${limits.itemsPerRun} items. Start several runs.`, 'tell', { most: limits.itemsPerRun })

export function duplicateKeys(keys: readonly string[], where = ''): PawlError {
  const named = keys.slice(0, 5).map((key) => JSON.stringify(key)).join(', ')
  return new PawlError('DUPLICATE_KEYS', `${where}Item keys must be unique in a run; given more than once: ${named}${keys.length > 5 ? ' and others' : ''}. Nothing was started.`, 'tell', { keys: keys.slice(0, 5) })
}

export function checkLabels(labels: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const entries = Object.entries(labels)
  const isFine = entries.length <= 50 && entries.every(([name, text]) => name.length >= 1 && name.length <= 100 && typeof text === 'string' && text.length <= 1_000 && isKeepable(name) && isKeepable(text))
  if (!isFine) throw new PawlError('BAD_LABELS', 'labels must be at most 50 pairs of text, names of 1 to 100 characters, values of at most 1,000, without NUL.')
  return labels
}

const requestedPolicy = z.strictObject({ onFailure: runPolicy.shape.onFailure, maxFailures: runPolicy.shape.maxFailures, maxConcurrency: runPolicy.shape.maxConcurrency, approval: runPolicy.shape.approval,
  budget: runPolicy.shape.budget, itemBudget: runPolicy.shape.itemBudget })

/** The agent's own policy, with what the request gives. `undefined` is not given: it takes nothing away from the agent's. */
export function mergePolicy(agent: ChosenAgent, policy: RunPolicyRequest = {}): RunPolicy {
  const own = agent.contract?.policy
  // Whoever starts a run may tighten who approves it, and not loosen it.
  const approval = own?.approval || policy.approval ? { approval: { ...own?.approval, ...given(policy.approval), ...(own?.approval?.notByRequester ? { notByRequester: true } : {}) } } : {}
  const parsed = requestedPolicy.safeParse({ ...own, ...given(policy), ...approval })
  if (!parsed.success) throw new PawlError('BAD_POLICY', `${firstIssue('policy', parsed.error)}. Known: onFailure (hold, complete, compensate), maxFailures, maxConcurrency, approval (expiresMs, notByRequester), budget, itemBudget (turns, tokens, cost, wallMs).`)
  return parsed.data
}

const given = (members: object = {}): object => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

/**
 * The digest of a request as it was given, streamed or whole: the same request sent again has the same, whatever version answers it now.
 * Begun with the header; then each item; without items, the split is asked for.
 */
export function beginDigest(request: { agent: string; version: string | undefined; input: unknown; labels: unknown; policy: unknown }): Hash {
  return createHash('sha256').update(canonical([request.agent, request.version ?? null, request.input, request.labels ?? {}, request.policy ?? {}]))
}

export function digestItem(hash: Hash, item: ItemSeed): void {
  hash.update('\n').update(canonical([item.key, item.payload]))
}
