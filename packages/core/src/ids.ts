import { createHash } from 'node:crypto'
import { v4, v7 } from 'uuid'
import { canonical } from './codec.ts'

/** Run ids are UUIDv7: sortable by time, so that new runs touch one end of an index. */
export const newRunId = (): string => v7()
/** In pages, too, over plain http as well, where browsers have no `randomUUID`. */
export const newId = (): string => v4()

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
export const isUuid = (text: string): boolean => uuidPattern.test(text)

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/**
 * The stable identity of an action, and the idempotency key given to the receiving system.
 * Hashed, because providers cap keys at 255 characters and the parts may be personal data.
 */
export function actionKey(runId: string, tool: string, parts: readonly unknown[]): string {
  return `pawl-${createHash('sha256').update(canonical([runId, tool, ...parts])).digest('base64url')}`
}

/** Job ids are never reused: a kept job with the same id would swallow the new one silently. No `:`, never digits only. */
export const jobId = (runId: string, seq: number, generation: number): string => `${runId}-${seq}-${generation}`
