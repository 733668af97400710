/** Which code a call runs on. The journal knows versions; an agent keeps the older ones its runs began with in `previousTools`. */
import { findTool, type AnyTool, type ToolPin } from '@pawl/tools'
import type { AnyAgent } from './define-agent.ts'

/** A tool of the agent, or the undo of one, in exactly the version the journal has; else the newest, whose version then tells that it is another. */
export const toolByName = (agent: AnyAgent, name: string, version: string): AnyTool | undefined => findTool(agent, name, version) ?? findTool(agent, name)

/** Can its code still call a tool of this name, in whatever version? */
export const hasTool = (agent: AnyAgent, name: string): boolean => Object.values(agent.tools as Record<string, AnyTool>).some((tool) => tool.name === name)

/** What a new call of the run is made with: the version the run is pinned to, where this build has it. */
export function pinnedTool(agent: AnyAgent, tool: AnyTool, pins: Readonly<Record<string, ToolPin>> | null): AnyTool {
  const pin = pins?.[tool.name]
  return pin === undefined || pin.version === tool.version ? tool : (findTool(agent, tool.name, pin.version) ?? tool)
}

/** All code of that name, the version to be tried first in front. */
export function versionsOf(agent: AnyAgent, first: AnyTool): AnyTool[] {
  const others = [...Object.values(agent.tools as Record<string, AnyTool>), ...((agent.previousTools ?? []) as readonly AnyTool[])].filter((tool) => tool.name === first.name && tool.version !== first.version)
  return [first, ...others]
}
