/**
 * Whether the ledger this process talks to is still the one it was written on. Each answer of a statement that allows a send says so; one that does not
 * fit ends the trust at once: guards close, attempts hand back, nothing is claimed. Then what this process remembers of acknowledged calls is brought
 * back, the loss is noted for everybody, and the trust returns when a person has cleared the ledger.
 */
import { bringBackActions, noteLoss, readHistory, readIdentity, type ActionRow, type BroughtBack, type History, type Ledger, type LedgerIdentity, type LostCall } from '@pawl/ledger'
import type { Log } from './parts.ts'
import { RecentCalls } from './recent-calls.ts'

const clearing = 'only reads are sent until a person has looked at what may be missing: "pawl ledger clear"'
const batch = 200

export class Trust {
  readonly #recent = new RecentCalls()
  #history: History
  #isTrusted: boolean
  /** What ended the trust, until it is dealt with. */
  #loss: { readonly seen: History; readonly why: string } | undefined
  #recovering: Promise<void> | undefined
  /** Noted by this process, by run, key and why. */
  readonly #noted = new Set<string>()

  /** @param onLost called once for each loss, synchronously. */
  constructor(private readonly ledger: Ledger, private readonly identity: LedgerIdentity, private readonly workerId: string, private readonly log: Log, private readonly onLost: () => void) {
    this.#history = identity.history
    this.#isTrusted = identity.isTrusted
    if (!identity.isTrusted) this.#loss = { seen: identity.history, why: 'a worker started on a server, or a history, the ledger was not written on' }
  }

  get isTrusted(): boolean {
    return this.#isTrusted
  }

  /** Keeps a call whose intent is durable. */
  remember(action: ActionRow): void {
    this.#recent.note(action)
  }

  see(history: History): void {
    if (!this.#isTrusted) return
    const why = whatIsWrong(history, this.#history)
    if (why === undefined) return
    this.#isTrusted = false
    // Cleared since this process last looked: its attempts rest on what was lost all the same, but nobody has to clear it again.
    this.#loss = { seen: history, why }
    this.log('error', `${why}: acknowledged writes may be missing; ${clearing}`, {})
    this.onLost()
    void this.recover()
  }

  /** One look, for a process that may have nothing else to ask. Never rejects. */
  async look(): Promise<void> {
    if (!this.#isTrusted) return await this.recover()
    await readHistory(this.ledger).then((history) => this.see(history), () => {})
  }

  /** Goes as far as it can; the next look goes on. Never rejects. */
  async recover(): Promise<void> {
    this.#recovering ??= this.#recover().catch((error: unknown) => {
      this.log('warn', `the loss could not be dealt with yet: ${error instanceof Error ? error.message : String(error)}`, {})
    }).finally(() => { this.#recovering = undefined })
    await this.#recovering
  }

  async #recover(): Promise<void> {
    if (this.#loss) {
      await this.#deal(this.#loss)
      this.#loss = undefined
    }
    const now = await readIdentity(this.ledger)
    if (this.#isTrusted || now.id !== this.identity.id || !now.isTrusted) return
    this.ledger.gauge.reset()
    this.#history = now.history
    this.#isTrusted = true
    this.log('info', 'a person has cleared the ledger: sends go on', {})
  }

  async #deal({ seen, why }: { seen: History; why: string }): Promise<void> {
    const isCleared = seen.isKnown && seen.clearedAtMs > this.#history.clearedAtMs
    if (!isCleared) await noteLoss(this.ledger, seen, why)
    const lost: LostCall[] = []
    const remembered = this.#recent.list()
    for (let from = 0; from < remembered.length; from += batch) {
      const part = remembered.slice(from, from + batch)
      const outcomes = await bringBackActions(this.ledger, part)
      part.forEach(({ action, agoMs }, i) => {
        const outcome = outcomes[i]?.outcome
        if (outcome !== undefined) this.#tell(action, outcome)
        if (outcome === 'missing' || outcome === 'ended' || outcome === 'twice') lost.push(lostCall(action, agoMs, outcome))
      })
    }
    if (isCleared || !(await noteLoss(this.ledger, seen, why, { workerId: this.workerId, lost }))) await this.#noteLate(lost)
    for (const call of lost) this.#noted.add(nameOf(call))
  }

  /** Cleared before these were noted: nobody was shown them, so that they hold the ledger once more. */
  async #noteLate(all: readonly LostCall[]): Promise<void> {
    const lost = all.filter((call) => !this.#noted.has(nameOf(call)))
    if (lost.length === 0) return
    const why = 'a worker that came back after the clearing remembers calls that could not be brought back'
    // Cleared once more meanwhile: again for that one.
    while (!(await noteLoss(this.ledger, await readHistory(this.ledger), why, { workerId: this.workerId, lost, isLate: true })));
    this.log('error', `${why}; ${clearing}`, {})
  }

  #tell(action: ActionRow, outcome: BroughtBack['outcome']): void {
    if (outcome === 'kept') return
    const place = { run: action.run_id, item: action.item_seq, epoch: action.epoch, tool: action.tool, key: action.key }
    if (outcome === 'restored') this.log('warn', 'a call the ledger had lost was brought back; it is settled, not made again', place)
    else if (outcome === 'twice') this.log('error', 'a call the ledger had lost stands in it with the result of another send: it may have been made twice', place)
    else this.log('error', `a call the ledger has lost could not be brought back: its ${outcome === 'missing' ? 'item is missing' : 'item has ended'}`, place)
  }
}

const nameOf = ({ run, key, why }: LostCall): string => `${run}:${key}:${why}`

const lostCall = (action: ActionRow, agoMs: number, why: LostCall['why']): LostCall =>
  ({ run: action.run_id, item: action.item_seq, key: action.key, tool: action.tool, effect: action.effect, at: new Date(Date.now() - agoMs).toISOString(), why })

function whatIsWrong(history: History, mine: History): string | undefined {
  if (history.timeline !== mine.timeline) return `the ledger's server is on timeline ${history.timeline}, this process began on ${mine.timeline}`
  if (history.since !== mine.since) return 'the ledger is another one, or was cleared after a loss, since this process began'
  if (history.hasGoneBack) return "the ledger's server has less than it acknowledged: its files were put back as they had been"
  if (!history.isKnown) return 'the ledger is on a server, or a history, it was not written on'
  return undefined
}
