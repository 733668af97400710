/** Where the agent's model, files, memory and mail server are: read from the environment, checked before anything starts. */
import { z } from 'zod'

export interface Settings {
  readonly model: ModelSettings
  /** The only folder the files server may touch. Holds `library`, `drafts` and `published`. */
  readonly folder: string
  /** The memory server's address: MCP over streamable HTTP. */
  readonly memory: string
  /** `smtp://host:port` */
  readonly smtp: string
}

export interface ModelSettings {
  readonly provider: 'scripted' | 'anthropic' | 'openai-compatible'
  readonly id: string
  /** Ends with `/v1`. Undefined: the provider's own address. */
  readonly url: string | undefined
  readonly key: string | undefined
}

const providers = ['anthropic', 'openai-compatible'] as const
const modelName = z.string().transform((text, context) => {
  if (text === 'scripted') return { provider: 'scripted' as const, id: 'scripted-1' }
  const provider = providers.find((one) => text.startsWith(`${one}:`) && text.length > one.length + 1)
  if (provider) return { provider, id: text.slice(provider.length + 1) }
  context.addIssue({ code: 'custom', message: 'is "scripted", "anthropic:<model>" or "openai-compatible:<model>"' })
  return z.NEVER
})

const blankIsUnset = (value: unknown): unknown => (value === '' ? undefined : value)
const environment = z.object({
  PAWL_MODEL: z.preprocess(blankIsUnset, modelName.default({ provider: 'scripted', id: 'scripted-1' })),
  PAWL_MODEL_URL: z.preprocess(blankIsUnset, z.url().optional()),
  PAWL_MODEL_KEY: z.preprocess(blankIsUnset, z.string().optional()),
  ANTHROPIC_API_KEY: z.preprocess(blankIsUnset, z.string().optional()),
  RESEARCH_FOLDER: z.string('is missing: the folder the agent may read and write').min(1),
  RESEARCH_MEMORY: z.url('is missing: the address of the memory server, which "node dist/outside-main.js" starts and prints'),
  RESEARCH_SMTP: z.string('is missing: smtp://host:port').regex(/^smtps?:\/\//, 'is an address like smtp://host:port'),
}).superRefine((env, context) => {
  const { provider } = env.PAWL_MODEL
  if (provider !== 'anthropic' && env.PAWL_MODEL_URL === undefined) {
    context.addIssue({ code: 'custom', path: ['PAWL_MODEL_URL'], message: `is missing: the address of the ${provider === 'scripted' ? 'scripted model ("node dist/outside-main.js" starts one and prints it)' : 'provider'}, ending with /v1` })
  }
  if (provider === 'anthropic' && env.PAWL_MODEL_KEY === undefined && env.ANTHROPIC_API_KEY === undefined) {
    context.addIssue({ code: 'custom', path: ['PAWL_MODEL_KEY'], message: 'is missing, and so is ANTHROPIC_API_KEY: the provider asks for a key' })
  }
})

/** Throws an error that names each variable that is wrong, never its value. */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const parsed = environment.safeParse(env)
  if (!parsed.success) throw new Error(`the research example cannot start:\n${parsed.error.issues.map(({ path, message }) => `  ${path.join('.')} ${message}`).join('\n')}`)
  const { PAWL_MODEL: model, PAWL_MODEL_URL: url, PAWL_MODEL_KEY: key, ANTHROPIC_API_KEY: anthropicKey, RESEARCH_FOLDER: folder, RESEARCH_MEMORY: memory, RESEARCH_SMTP: smtp } = parsed.data
  return { model: { ...model, url, key: key ?? (model.provider === 'anthropic' ? anthropicKey : undefined) }, folder, memory, smtp }
}
