/** What people do on the pages, as they would: by what is written there. */
import type { InboxItem, PawlClient } from '@pawl/client'
import type { Locator, Page } from 'playwright-core'
import { idOf } from '../web/src/pages/inbox/held.ts'
import type { Seat } from './ground.ts'

export const cardOf = (page: Page, entry: InboxItem): Locator => page.locator(`article[id="${idOf(entry)}"]`)

/** What waits in a run, as the ledger has it. */
export async function waiting(direct: PawlClient, runId: string): Promise<readonly InboxItem[]> {
  return (await direct.inbox({ runId })).entries
}

export async function entryOf<K extends InboxItem['kind']>(direct: PawlClient, runId: string, kind: K): Promise<Extract<InboxItem, { kind: K }>> {
  const found = (await waiting(direct, runId)).find((entry): entry is Extract<InboxItem, { kind: K }> => entry.kind === kind)
  if (!found) throw new Error(`nothing of kind ${kind} waits in run ${runId}`)
  return found
}

export interface Answer {
  /** Of the choice, to the letter. */
  readonly choice: string
  readonly note?: string
  /** Before it is sent. */
  readonly fill?: (card: Locator) => Promise<void>
}

/** Opens the run's inbox and answers. Resolves when the page says that it is done. */
export async function answer(seat: Seat, entry: InboxItem, given: Answer): Promise<void> {
  await seat.goto(`/inbox?run=${entry.runId}`)
  await choose(cardOf(seat.page, entry), given)
  await cardOf(seat.page, entry).getByText(/by you/).waitFor()
}

export async function choose(card: Locator, { choice, note, fill }: Answer): Promise<void> {
  await card.getByRole('radio', { name: choice, exact: true }).check()
  await fill?.(card)
  if (note !== undefined) await card.getByLabel('Note, for the record').fill(note)
  await card.locator('button[type="submit"]').click()
}
