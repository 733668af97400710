/** The tools an agent brings, the ones that only undo and the older versions it keeps among them. */
import type { AnyTool, ToolMap } from '../define-tool.ts'

export interface ToolHolder {
  readonly tools?: ToolMap | undefined
  /** Older versions, kept for runs that began with them. */
  readonly previousTools?: readonly AnyTool[] | undefined
}

function withUndos(tools: readonly AnyTool[]): AnyTool[] {
  const seen = new Set<AnyTool>()
  const queue = [...tools]
  for (let tool = queue.shift(); tool; tool = queue.shift()) {
    if (seen.has(tool)) continue
    seen.add(tool)
    if (tool.undo) queue.push(tool.undo.tool)
  }
  return [...seen]
}

/** What new runs use. */
export const currentTools = (agent: ToolHolder): AnyTool[] => withUndos(Object.values(agent.tools ?? {}))

/** All code there is here, current versions first. */
export const allTools = (agent: ToolHolder): AnyTool[] => withUndos([...Object.values(agent.tools ?? {}), ...(agent.previousTools ?? [])])

/** Exactly this version of it; the newest where none is said. */
export function findTool(agent: ToolHolder, name: string, version?: string): AnyTool | undefined {
  return allTools(agent).find((tool) => tool.name === name && (version === undefined || tool.version === version))
}
