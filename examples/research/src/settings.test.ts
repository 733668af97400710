/** PAWL_MODEL and what belongs to it. */
import { describe, expect, test } from 'vitest'
import { languageModel } from './model.ts'
import { readSettings } from './settings.ts'

const rest = { RESEARCH_FOLDER: '/tmp', RESEARCH_MEMORY: 'http://127.0.0.1:1/mcp', RESEARCH_SMTP: 'smtp://127.0.0.1:2' }
const url = 'http://127.0.0.1:3/v1'

describe('the model', () => {
  test('is the scripted one unless PAWL_MODEL names another; each is a model of its provider', () => {
    for (const [env, expected, provider] of [
      [{ PAWL_MODEL_URL: url }, { provider: 'scripted', id: 'scripted-1', url, key: undefined }, 'scripted.chat'],
      [{ PAWL_MODEL: 'anthropic:m-1', ANTHROPIC_API_KEY: 'k' }, { provider: 'anthropic', id: 'm-1', url: undefined, key: 'k' }, 'anthropic.messages'],
      [{ PAWL_MODEL: 'openai-compatible:org/m:latest', PAWL_MODEL_URL: url, PAWL_MODEL_KEY: 'k', ANTHROPIC_API_KEY: 'other' }, { provider: 'openai-compatible', id: 'org/m:latest', url, key: 'k' }, 'openai-compatible.chat'],
    ] as const) {
      const { model } = readSettings({ ...rest, ...env })
      expect(model).toEqual(expected)
      expect(languageModel(model)).toMatchObject({ modelId: expected.id, provider })
    }
  })

  test('that cannot be reached for want of a variable is refused by the name of that variable, without its value', () => {
    for (const [env, name] of [
      [{}, 'PAWL_MODEL_URL'], [{ PAWL_MODEL: 'openai-compatible:m' }, 'PAWL_MODEL_URL'], [{ PAWL_MODEL: 'anthropic:m' }, 'PAWL_MODEL_KEY'], [{ PAWL_MODEL: 'gpt:secret' }, 'PAWL_MODEL'],
      [{ PAWL_MODEL: 'anthropic:', PAWL_MODEL_KEY: 'secret' }, 'PAWL_MODEL'], [{ PAWL_MODEL_URL: 'secret' }, 'PAWL_MODEL_URL'], [{ PAWL_MODEL_URL: url, RESEARCH_SMTP: 'secret' }, 'RESEARCH_SMTP'],
    ] as const) {
      const refused = (): unknown => readSettings({ ...rest, ...env })
      expect(refused).toThrow(name)
      expect(refused).not.toThrow('secret')
    }
  })
})
