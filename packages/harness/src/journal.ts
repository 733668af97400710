/**
 * What an item has done so far, as its claim brought it, kept up to date by this attempt. Pure: decides, never writes.
 */
import type { ActionRow, QuestionRow, RecordRow, TurnRow } from '@pawl/ledger'

/** What a call under this key means now. */
export type CallDecision =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'replay'; readonly action: ActionRow }
  /** Every send is proved not applied, and the agent has acted on the error: the same error again. */
  | { readonly kind: 'replay_error'; readonly action: ActionRow }
  /** Proved not applied, and nothing came after it: send again under the same key. */
  | { readonly kind: 'again'; readonly action: ActionRow }
  /** The journal holds a write of this tool, or of one the agent no longer has, that the attempt has not asked for. */
  | { readonly kind: 'diverged'; readonly recorded: ActionRow }
  | { readonly kind: 'conflict'; readonly action: ActionRow }
  /** A person was asked; whether there is an answer the ledger tells when it is used. */
  | { readonly kind: 'waiting'; readonly action: ActionRow }
  | { readonly kind: 'rejected'; readonly action: ActionRow }
  /** Held back to the end of the run. */
  | { readonly kind: 'staged'; readonly action: ActionRow }

export class Journal {
  readonly #actions: Map<string, ActionRow>
  readonly #records: Map<string, RecordRow>
  readonly #turns: Map<number, Pick<TurnRow, 'n' | 'decision'>>
  readonly #asked = new Set<string>()
  readonly #questions: Map<string, QuestionRow>
  #recordsMade = 0

  /** @param hasTool whether the agent can still call a tool of this name. */
  constructor(
    actions: readonly ActionRow[], records: readonly RecordRow[], readonly allowNewCalls: boolean, turns: readonly Pick<TurnRow, 'n' | 'decision'>[] = [], questions: readonly QuestionRow[] = [],
    private readonly hasTool: (name: string) => boolean = () => true,
  ) {
    this.#questions = new Map(questions.map((question) => [question.key, question]))
    this.#actions = new Map(actions.map((action) => [action.key, action]))
    this.#records = new Map(records.map((record) => [record.name, record]))
    this.#turns = new Map(turns.map((turn) => [turn.n, turn]))
  }

  get(key: string): ActionRow | undefined {
    return this.#actions.get(key)
  }

  record(name: string): RecordRow | undefined {
    return this.#records.get(name)
  }

  /** Records there are now, those of this attempt included. */
  get recordCount(): number {
    return this.#records.size + this.#recordsMade
  }

  noteRecord(): void {
    this.#recordsMade++
  }

  turn(n: number): Pick<TurnRow, 'n' | 'decision'> | undefined {
    return this.#turns.get(n)
  }

  /** Turns there are now, those of this attempt included. */
  get turnCount(): number {
    return this.#turns.size
  }

  putTurn(turn: { n: number; decision: string }): void {
    this.#turns.set(turn.n, turn)
  }

  question(key: string): QuestionRow | undefined {
    return this.#questions.get(key)
  }

  /** In the order they were asked. */
  questions(): QuestionRow[] {
    return [...this.#questions.values()].toSorted((a, b) => a.order_no - b.order_no)
  }

  /** Questions there are now, whether answered or not: to have asked is to have acted on what came before. */
  get questionCount(): number {
    return this.#questions.size
  }

  noteQuestion(question: QuestionRow): void {
    this.#questions.set(question.key, question)
  }

  put(action: ActionRow): void {
    this.#actions.set(action.key, action)
  }

  actions(): ActionRow[] {
    return [...this.#actions.values()]
  }

  /** In which versions the item has called a tool so far. */
  versionsOf(tool: string): ReadonlySet<string> {
    return new Set(this.actions().filter((action) => action.tool === tool).map((action) => action.tool_version))
  }

  /** Other args under this key had no effect, for certain: refused by every send, refused by a person, or never sent. */
  isFreeForOtherArgs(key: string, argsDigest: string): boolean {
    const action = this.#actions.get(key)
    return action !== undefined && action.args_digest !== argsDigest && action.applied_evidence === null && (action.status === 'failed' || isUnmade(action))
  }

  /** Kept calls of the same meaning, with other args, that this attempt has not asked for: the call under this key takes their place. */
  supersededBy(key: string): ActionRow[] {
    return this.keptUnasked().filter((action) => action.key !== key && meaningOf(action.key) === meaningOf(key))
  }

  /** Waiting for a yes, or held back by this very item, and not asked for by this attempt. */
  keptUnasked(): ActionRow[] {
    return this.actions().filter((action) => (action.status === 'awaiting_approval' || action.status === 'staged') && !this.#asked.has(action.key))
  }

  /** Of an item that has failed: those, and every call that waits for a yes. */
  keptInVain(): ActionRow[] {
    return this.actions().filter((action) => action.status === 'awaiting_approval' || (action.status === 'staged' && !this.#asked.has(action.key)))
  }

  /** Of all actions there are now: later ones get higher ids, however often an older one is sent again. */
  newestId(): number {
    return Math.max(0, ...this.actions().map((a) => a.id))
  }

  ask(call: { key: string; tool: string; isWrite: boolean; argsDigest: string }): CallDecision {
    const action = this.#actions.get(call.key)
    this.#asked.add(call.key)
    if (!action) {
      const recorded = call.isWrite && !this.allowNewCalls ? this.#notAskedFor(call.tool) : undefined
      return recorded ? { kind: 'diverged', recorded } : { kind: 'fresh' }
    }
    if (action.args_digest !== call.argsDigest || action.tool !== call.tool) return { kind: 'conflict', action }
    if (action.status === 'committed') return { kind: 'replay', action }
    if (action.status === 'awaiting_approval') return { kind: 'waiting', action }
    if (action.status === 'rejected' || action.status === 'staged') return { kind: action.status, action }
    if (action.status === 'discarded') return { kind: 'again', action }
    if (action.status !== 'failed') return { kind: 'conflict', action }
    return isUnsent(action) || !this.#hasActedOn(action) ? { kind: 'again', action } : { kind: 'replay_error', action }
  }

  /** Did the item do anything after the agent was given this error? Calls, records and questions that were under way beside it are none of that. */
  #hasActedOn(failed: ActionRow): boolean {
    const { after, records, turns, questions } = JSON.parse(failed.error ?? '{}') as { after?: unknown; records?: unknown; turns?: unknown; questions?: unknown }
    const newest = typeof after === 'number' ? after : failed.id
    if (this.actions().some((a) => a.id > newest)) return true
    // A model that was given the error and decided anew has acted on it.
    if (typeof turns === 'number' && this.#turns.size > turns) return true
    const later = (row: { order_no: number }): boolean => row.order_no > failed.order_no
    if (typeof questions === 'number' ? this.#questions.size > questions : [...this.#questions.values()].some(later)) return true
    return typeof records === 'number' ? this.#records.size > records : [...this.#records.values()].some(later)
  }

  /** Of this tool, or of one the agent no longer has: that may be this one under the name it had, and nobody will ever ask for it. */
  #notAskedFor(tool: string): ActionRow | undefined {
    return this.actions().find((a) => (a.tool === tool || !this.hasTool(a.tool)) && a.effect !== 'read' && a.status !== 'failed' && !isUnmade(a) && a.staged_by === null && a.undoes === null && !this.#asked.has(a.key))
  }
}

/** Not sent, or refused by every send, and not to be sent as it stands. */
const isUnmade = (action: ActionRow): boolean =>
  action.sends === action.refused && (action.status === 'awaiting_approval' || action.status === 'rejected' || action.status === 'staged' || action.status === 'discarded')

/** A key without the number it got because others of its meaning came to nothing. */
const meaningOf = (key: string): string => key.replace(/~\d+$/, '')

/** Stopped by the guard, found not applied, or said so by a person: nothing the agent was told about. */
export function isUnsent(action: ActionRow): boolean {
  return action.error !== null && action.error.includes('"code":"unsent"')
}
