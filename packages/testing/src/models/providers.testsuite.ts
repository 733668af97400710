/** Both providers' real clients, pointed at a server. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModel } from 'ai'

// A scripted model is none the client knows; it need not say so at each request.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

export interface Provider {
  readonly name: 'openai' | 'anthropic'
  readonly path: string
  readonly headers: Record<string, string>
  readonly model: (url: string, given?: { fetch?: typeof fetch; apiKey?: string }) => LanguageModel
}

export const providers: readonly Provider[] = [
  {
    name: 'openai', path: '/chat/completions', headers: {},
    model: (url, given = {}) => createOpenAICompatible({ name: 'local', baseURL: url, apiKey: given.apiKey ?? 'k', includeUsage: true, ...(given.fetch === undefined ? {} : { fetch: given.fetch }) })('scripted-1'),
  },
  {
    name: 'anthropic', path: '/messages', headers: { 'anthropic-version': '2023-06-01' },
    model: (url, given = {}) => createAnthropic({ baseURL: url, apiKey: given.apiKey ?? 'k', ...(given.fetch === undefined ? {} : { fetch: given.fetch }) })('scripted-1'),
  },
]
