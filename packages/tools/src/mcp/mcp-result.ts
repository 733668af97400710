/** What an MCP tool answers, as the ledger keeps it and the agent gets it: content, structured content, and whether it is an error. */
import { NotApplied } from '@pawl/core'
import type { CallToolResult } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { zodFromJsonSchema } from '../json-schema.ts'
import type { Classification, ErrorReading } from './classification.ts'

export type McpInput = Readonly<Record<string, unknown>>

export interface McpContent {
  readonly type: string
  readonly [part: string]: unknown
}

export interface McpResult {
  /** Text, images (base64), links and resources, in the server's order. */
  readonly content: readonly McpContent[]
  readonly structuredContent?: unknown
  /** Only where the classification takes errors for results. */
  readonly isError?: true
}

/** The text parts, one below the other. */
export const mcpText = (result: McpResult): string => result.content.flatMap((part) => (part.type === 'text' && typeof part.text === 'string' ? [part.text] : [])).join('\n')

/** @param declared the tool's own schema of its structured content: an answer that does not fit leaves the call unsettled. */
export function resultSchema(declared: Readonly<Record<string, unknown>> | undefined): z.ZodType<McpResult> {
  const inner = declared && zodFromJsonSchema(declared)
  return z.object({
    content: z.array(z.looseObject({ type: z.string() })),
    structuredContent: z.unknown().exactOptional(),
    isError: z.literal(true).exactOptional(),
  }).superRefine((result, context) => {
    if (!inner || result.isError) return
    for (const { path, message } of inner.safeParse(result.structuredContent).error?.issues ?? []) context.addIssue({ code: 'custom', path: ['structuredContent', ...path], message })
  })
}

/** The answer as a result, or the error its classification takes it for. */
export function readAnswer(tool: string, answer: CallToolResult, said: Classification): McpResult {
  const content = answer.content as unknown as readonly McpContent[]
  const result: McpResult = {
    content,
    ...(answer.structuredContent === undefined ? {} : { structuredContent: answer.structuredContent }),
    ...(answer.isError ? { isError: true } : {}),
  }
  if (!answer.isError) return result
  switch (readingOf(said, result)) {
    case 'result': return result
    case 'not-applied': throw new NotApplied(`${tool} answered with an error: ${shorten(mcpText(result))}`)
    case 'unknown': throw new Error(`${tool} answered with an error, which does not say whether anything was done: ${shorten(mcpText(result))}`)
  }
}

function readingOf({ effect, onError }: Classification, result: McpResult): ErrorReading {
  if (typeof onError === 'function') return onError(result)
  return onError ?? (effect === 'read' ? 'result' : 'unknown')
}

const shorten = (text: string): string => (text.length > 1_000 ? `${text.slice(0, 1_000)}…` : text)
