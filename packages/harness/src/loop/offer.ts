/** The agent's tools as a model is offered them: a name every provider takes, a description, a JSON schema. Made once per agent. */
import { modelToolName, PawlError } from '@pawl/core'
import type { LanguageModelV3FunctionTool } from '@ai-sdk/provider'
import type { AnyTool, ToolMap } from '@pawl/tools'
import { z } from 'zod'
import type { AnyAgent } from '../define-agent.ts'
import type { Loop } from './options.ts'

/** How a model gives an answer of a declared shape: by calling this, which is no tool. */
export const answerName = 'final_answer'

export interface Offer {
  /** By the name the model knows. */
  readonly tools: ReadonlyMap<string, AnyTool>
  /** By the tool's own name. */
  readonly names: ReadonlyMap<string, string>
  readonly functions: readonly LanguageModelV3FunctionTool[]
}

const made = new WeakMap<Loop, WeakMap<AnyAgent, Offer>>()

export function offerOf(agent: AnyAgent, loop: Loop): Offer {
  const offers = made.get(loop) ?? new WeakMap<AnyAgent, Offer>()
  made.set(loop, offers)
  const offer = offers.get(agent) ?? makeOffer(agent, loop)
  offers.set(agent, offer)
  return offer
}

/** Throws `BAD_LOOP` where the model could not tell two tools apart, or a tool takes no object. */
function makeOffer(agent: AnyAgent, loop: Loop): Offer {
  const own = agent.tools as ToolMap
  const tools = new Map<string, AnyTool>()
  const functions: LanguageModelV3FunctionTool[] = []
  for (const property of loop.tools ?? Object.keys(own)) {
    const tool = own[property]
    if (!tool) throw bad(agent, `there is no tool "${property}". It has: ${Object.keys(own).join(', ') || 'none'}.`)
    const name = modelToolName(property)
    if (tools.has(name) || (loop.output && name === answerName)) throw bad(agent, `two tools are called "${name}" by the model. Rename one in tools.`)
    tools.set(name, tool)
    functions.push({ type: 'function', name, description: tool.description, inputSchema: schemaOf(agent, tool.inputSchema as z.ZodType, name) })
  }
  if (loop.output) {
    functions.push({ type: 'function', name: answerName, description: 'Gives the result of this item and ends it. Call it once, when nothing is left to do.', inputSchema: schemaOf(agent, loop.output, answerName) })
  }
  return { tools, names: new Map([...tools].map(([name, tool]) => [tool.name, name])), functions }
}

function schemaOf(agent: AnyAgent, schema: z.ZodType, name: string): LanguageModelV3FunctionTool['inputSchema'] {
  const made = z.toJSONSchema(schema, { io: 'input', target: 'draft-7', unrepresentable: 'any' }) as LanguageModelV3FunctionTool['inputSchema']
  if (made.type !== 'object') throw bad(agent, `"${name}" takes no object, and a model can give nothing else. Wrap its input in z.object.`)
  return made
}

const bad = (agent: AnyAgent, sentence: string): PawlError => new PawlError('BAD_LOOP', `agentLoop of agent "${agent.name}": ${sentence}`, 'fail', { agent: agent.name })
