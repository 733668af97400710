/**
 * Reads a model's stream into one answer, telling watchers of each piece as it comes. What was told is not durable and need not be: a stream that breaks
 * is an error of the model call, the turn is asked for again, and only a whole answer is recorded.
 */
import type { LanguageModelV3Content, LanguageModelV3StreamPart } from '@ai-sdk/provider'
import type { ModelAnswer } from './decision.ts'

/** One piece of the turn under way. `again`: the model is asked once more, what was told of this turn is void. */
export type TurnDelta =
  | { readonly kind: 'text' | 'reasoning'; readonly text: string }
  | { readonly kind: 'call'; readonly tool: string }
  | { readonly kind: 'again' }

export async function readStream(stream: ReadableStream<LanguageModelV3StreamPart>, tell: (delta: TurnDelta) => void): Promise<ModelAnswer> {
  const content: LanguageModelV3Content[] = []
  const open = new Map<string, Extract<LanguageModelV3Content, { type: 'text' | 'reasoning' }>>()
  let end: Pick<ModelAnswer, 'finishReason' | 'usage'> | undefined
  const reader = stream.getReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const part = next.value
      switch (part.type) {
        case 'text-start': case 'reasoning-start': {
          const opened = { type: part.type === 'text-start' ? 'text' as const : 'reasoning' as const, text: '', ...metadataOf(part) }
          open.set(part.id, opened)
          content.push(opened)
          break
        }
        case 'text-delta': case 'reasoning-delta': {
          const kind = part.type === 'text-delta' ? 'text' : 'reasoning'
          const piece = open.get(part.id)
          if (piece) Object.assign(piece, metadataOf(part)).text += part.delta
          else content.push({ type: kind, text: part.delta, ...metadataOf(part) })
          tell({ kind, text: part.delta })
          break
        }
        case 'text-end': case 'reasoning-end': {
          const piece = open.get(part.id)
          if (piece) Object.assign(piece, metadataOf(part))
          break
        }
        case 'tool-input-start': tell({ kind: 'call', tool: part.toolName }); break
        case 'tool-call': content.push(part); break
        case 'error': throw part.error instanceof Error ? part.error : new Error(`the model's stream broke: ${String(part.error)}`)
        case 'finish': end = part; break
        default: break
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
  if (!end) throw new Error('the model\'s stream ended before its answer did')
  return { content, finishReason: end.finishReason, usage: end.usage }
}

const metadataOf = (part: { providerMetadata?: unknown }): object => (part.providerMetadata === undefined ? {} : { providerMetadata: part.providerMetadata })
