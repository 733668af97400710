import type { AnyTool } from '@pawl/tools'
import type { AnyAgent } from './define-agent.ts'

/** A tool of the agent, or the undo of one, by the name the journal has. */
export function toolByName(agent: AnyAgent, name: string): AnyTool | undefined {
  const queue: AnyTool[] = Object.values(agent.tools as Record<string, AnyTool>)
  for (const seen = new Set<AnyTool>(); queue.length > 0;) {
    const tool = queue.shift()
    if (!tool || seen.has(tool)) continue
    if (tool.name === name) return tool
    seen.add(tool)
    if (tool.undo) queue.push(tool.undo.tool)
  }
  return undefined
}
