/** `pawl.config`: which agents a system has, and where its ledger and queue are. Environment variables override the places. */
import { PawlError } from '@pawl/core'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AnyAgent } from './define-agent.ts'

export interface PawlConfig {
  readonly agents: readonly AnyAgent[]
  /** `postgres://…`; `DATABASE_URL` overrides it. */
  readonly databaseUrl?: string
  /** `REDIS_URL` and `PAWL_QUEUE` override it. Default: the ledger's Postgres. */
  readonly queue?: { readonly backend: 'redis' | 'postgres'; readonly url?: string }
}

/** Checks the agents together: one name and version once. Throws `BAD_CONFIG`. */
export function defineConfig(config: PawlConfig): PawlConfig {
  const seen = new Set<string>()
  for (const agent of config.agents) {
    if (agent?.kind !== 'pawl.agent') throw new PawlError('BAD_CONFIG', 'pawl.config: agents must be made with defineAgent.', 'crash')
    for (const version of [agent.version, ...(agent.serves ?? [])]) {
      const name = `${agent.name}@${version}`
      if (seen.has(name)) throw new PawlError('BAD_CONFIG', `pawl.config: ${name} is served twice. Remove one, or raise a version.`, 'crash')
      seen.add(name)
    }
  }
  return config
}

const names = ['pawl.config.ts', 'pawl.config.js', 'pawl.config.mjs']

/** Finds and imports the config: `path`, or `pawl.config.*` in the working folder. Throws `NO_CONFIG` or `BAD_CONFIG`. */
export async function loadConfig(path?: string): Promise<{ config: PawlConfig; path: string }> {
  const found = path === undefined ? names.map((name) => resolve(name)).find((candidate) => existsSync(candidate)) : resolve(path)
  if (found === undefined || !existsSync(found)) {
    throw new PawlError('NO_CONFIG', `No config at ${found ?? names.join(', ')}. Write pawl.config.ts with "export default defineConfig({ agents: [...] })", or name it with --config.`, 'crash')
  }
  if (found.endsWith('.ts')) await registerTypeScript()
  const module = (await import(pathToFileURL(found).href)) as { default?: PawlConfig }
  if (!module.default || !Array.isArray(module.default.agents)) {
    throw new PawlError('BAD_CONFIG', `${found} has no default export with agents. Write "export default defineConfig({ agents: [...] })".`, 'crash')
  }
  return { config: defineConfig(module.default), path: found }
}

async function registerTypeScript(): Promise<void> {
  const { register } = await import('tsx/esm/api')
  register()
}
