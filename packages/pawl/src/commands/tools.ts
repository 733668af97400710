import type { AnyAgent } from '@pawl/harness'
import type { AnyTool } from '@pawl/tools'
import type { Command } from 'commander'
import colors from 'picocolors'
import { PawlError } from '@pawl/core'
import { exitOf } from '../cli/exit-codes.ts'
import { UsageError } from '../cli/fail.ts'
import { addLeaf } from '../cli/leaf.ts'
import { findConfig } from '../cli/place.ts'
import { plain } from '../cli/plain.ts'
import { checkLock, writeLock } from './tools-lock.ts'

interface ToolsOptions {
  readonly config?: string
  readonly lock?: boolean
  readonly check?: boolean
  readonly lockFile?: string
}

interface ToolFacts {
  readonly agent: string
  readonly tool: string
  readonly version: string
  readonly effect: string
  /** `input`: from its meaning. `ordinal`: the n-th call of the tool in its item. */
  readonly key: 'input' | 'ordinal'
  readonly keyWindowMs: number | null
  readonly verify: boolean
  readonly settleWindowMs: number
  readonly timeoutMs: number
  readonly undo: string | null
  /** It writes and has no inverse: what it did is residue of a compensation. */
  readonly irreversible: boolean
  readonly interrupted: string
}

/** `pawl tools`: what every agent's tools do to the world and how an interrupted call is settled. JSON: `ToolFacts[]`. */
export function addTools(parent: Command): void {
  addLeaf<ToolsOptions>(parent, {
    usage: 'tools', about: "every agent's tools: effect, key, verify, undo, and what cannot be undone",
    options: (command) => void command.option('--config <file>', 'pawl.config.ts or .js (default: the one in this folder)')
      .option('--lock', 'write pawl.lock.json: keys, effects, undos and pins, to be committed beside the code')
      .option('--check', 'fail when this code does not do what the lock says; for CI')
      .option('--lock-file <file>', 'the lock (default: pawl.lock.json in this folder)'),
    async run({ options, out }) {
      const config = await findConfig(options.config)
      if (config === undefined) throw new PawlError('NO_CONFIG', 'This folder has no pawl.config.ts or .js. Go to the folder that has it, or name it with --config.')
      if (options.lock && options.check) throw new UsageError('Give --lock or --check: one writes the file, the other looks at it.')
      const lockFile = options.lockFile ?? 'pawl.lock.json'
      if (options.lock) return writeLock(out, config.agents, lockFile)
      if (options.check) return checkLock(out, config.agents, lockFile)
      const tools = config.agents.flatMap(factsOf)
      out.emit(tools)
      if (tools.length === 0) out.line('No agent of this config has tools.')
      else out.table(columns, tools.map((tool) => [tool.agent, `${tool.tool}@${tool.version}`, tool.effect, tool.key === 'input' ? 'its input' : 'item and ordinal', tool.verify ? 'yes' : '–', undoCell(tool), tool.interrupted]))
      const standing = [...new Set(tools.filter((tool) => tool.irreversible).map((tool) => tool.tool))]
      if (standing.length > 0) out.line(`\nCannot be undone: ${colors.yellow(standing.map(plain).join(', '))}. A compensation leaves what they did standing, and says so.`)
      return exitOf.ok
    },
  })
}

const columns = [{ name: 'agent' }, { name: 'tool' }, { name: 'effect' }, { name: 'keyed by' }, { name: 'verify' }, { name: 'undo' }, { name: 'an interrupted call is' }] as const

const undoCell = (tool: ToolFacts): string => tool.undo ?? (tool.irreversible ? 'none' : '–')

/** An agent's tools, and the tools that only undo. */
function factsOf(agent: AnyAgent): ToolFacts[] {
  const tools = new Map<string, AnyTool>()
  for (const listed of Object.values(agent.tools) as AnyTool[]) {
    for (let tool: AnyTool | undefined = listed; tool !== undefined && !tools.has(tool.name); tool = tool.undo?.tool) tools.set(tool.name, tool)
  }
  const undoers = new Set([...tools.values()].flatMap((tool) => (tool.undo ? [tool.undo.tool.name] : [])))
  return [...tools.values()].map((tool) => ({
    agent: `${agent.name}@${agent.version}`, tool: tool.name, version: tool.version, effect: tool.effect, key: tool.key ? 'input' : 'ordinal',
    keyWindowMs: tool.keyWindowMs ?? null, verify: tool.verify !== undefined, settleWindowMs: tool.settleWindowMs, timeoutMs: tool.timeoutMs,
    undo: tool.undo?.tool.name ?? null, irreversible: tool.effect !== 'read' && !tool.undo && !undoers.has(tool.name), interrupted: fateOf(tool),
  }))
}

/** The order the harness settles in: the key, then `verify`, then a person. */
function fateOf(tool: AnyTool): string {
  if (tool.effect === 'read') return 'called again'
  if (tool.effect === 'transactional') return 'told by its own transaction'
  const afterwards = tool.verify ? 'verified' : 'asked of a person'
  if (tool.effect !== 'idempotent') return afterwards
  return tool.keyWindowMs === undefined ? 'called again under its key' : `called again under its key, later ${afterwards}`
}
