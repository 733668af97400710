/**
 * Loads a config in a process of its own and tells what it names: a module that was imported once stays as it was, so only a new process
 * sees what changed. Forked by `pawl dev`; the path is its argument.
 */
import { loadConfig } from '@pawl/harness'

export type Loaded = { readonly agents: readonly string[] } | { readonly error: string }

const tell = (loaded: Loaded): void => void process.send?.(loaded, undefined, undefined, () => process.exit(0))

loadConfig(process.argv[2]).then(
  ({ config }) => { tell({ agents: config.agents.map((agent) => `${agent.name}@${agent.version}`) }) },
  (error: unknown) => { tell({ error: error instanceof Error ? error.message : String(error) }) },
)
