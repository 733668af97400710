/** One tool of `pawl mcp`: what it may do, what it takes, and what it asks of the client. Scopes are the words of the producer's tokens. */
import type { PawlClient } from '@pawl/client'
import type { z } from 'zod'

/** Each holds the ones before it: whoever operates runs may start and see them. */
export const LEVELS = ['read', 'run', 'operate'] as const
export type Level = (typeof LEVELS)[number]

export interface PawlTool<S extends z.ZodObject = z.ZodObject> {
  readonly name: string
  readonly title: string
  /** Read by a model: what it does, when to use it, what comes back. */
  readonly description: string
  readonly level: Level
  readonly input: S
  /** It may end or undo what somebody else wants to go on. Only asked of tools that write. */
  readonly isDestructive?: boolean
  /** Called again with the same input it changes nothing more. */
  readonly isIdempotent?: boolean
  /** Gives a JSON object. @param signal aborts when the caller no longer waits. */
  readonly run: (client: PawlClient, input: z.infer<S>, signal: AbortSignal) => Promise<Readonly<Record<string, unknown>>>
}

/** Keeps the input's type for `run`. */
export const pawlTool = <S extends z.ZodObject>(tool: PawlTool<S>): PawlTool => tool as unknown as PawlTool
