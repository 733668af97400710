import type { BriefView } from '@pawl/client'
import type { Command } from 'commander'
import { UsageError } from '../cli/fail.ts'
import { addLeaf } from '../cli/leaf.ts'
import { wholeNumber } from '../cli/parse.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { plain } from '../cli/plain.ts'

interface BriefOptions extends PlaceOptions {
  readonly tokens?: number
}

/** `pawl run brief <run> <item>`: what the model is shown next. JSON: a `BriefView`. */
export function addRunBrief(parent: Command): void {
  addLeaf<BriefOptions>(parent, {
    usage: 'brief <run> <item>', about: 'what the model is shown next of an item, built from the ledger',
    options: (command) => addPlaceOptions(command.option('--tokens <n>', 'in place of the agent\'s own budget', wholeNumber(100, 10_000_000))),
    async run({ args, options, out }) {
      const [runId = '', item = ''] = args
      if (!/^\d{1,10}$/.test(item)) throw new UsageError(`<item> is the item's number, as \`pawl run items ${runId}\` lists it.`)
      const client = await openClient(options, out)
      try {
        const brief = await client.brief(runId, Number(item), { tokens: options.tokens })
        out.emit(brief)
        for (const line of linesOf(brief).flatMap((text) => text.split('\n'))) out.line(plain(line))
      } finally {
        await client.close()
      }
    },
  })
}

function linesOf(brief: BriefView): string[] {
  const lines = [`── system${brief.hasInstructions ? '' : ' (without the agent\'s instructions: they are not known here)'}`, brief.system]
  for (const message of brief.messages) {
    if (message.role === 'user') lines.push('── user', message.content)
    else if (message.role === 'tool') for (const result of message.content) lines.push(`── result of ${result.toolName} (${result.toolCallId})`, result.output.value)
    else {
      lines.push('── assistant')
      for (const part of message.content) lines.push(part.type === 'tool-call' ? `calls ${part.toolName} (${part.toolCallId}): ${JSON.stringify(part.input)}` : part.text)
    }
  }
  const digested = brief.turnsDigested === 0 ? '' : `; turns 1 to ${brief.turnsDigested} in short`
  return [...lines, `── about ${brief.tokens} of ${brief.budget} tokens${brief.isOver ? ', too many: what is done and open does not fit' : ''}${digested}`]
}
