/** The language model that PAWL_MODEL names. No layer here retries: the loop does, and what it asks is in the ledger. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LoopOptions } from 'pawl'
import type { ModelSettings } from './settings.ts'

/** The scripted model speaks the OpenAI-compatible API, as many local servers do. */
export function languageModel({ provider, id, url, key }: ModelSettings): Exclude<LoopOptions['model'], () => unknown> {
  const at = url === undefined ? {} : { baseURL: url }
  const with_ = key === undefined ? {} : { apiKey: key }
  if (provider === 'anthropic') return createAnthropic({ ...at, ...with_ })(id)
  return createOpenAICompatible({ name: provider, baseURL: url ?? '', ...with_ })(id)
}
