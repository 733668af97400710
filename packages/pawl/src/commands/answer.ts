import { questionToWire } from '@pawl/client'
import type { Command } from 'commander'
import { addLeaf } from '../cli/leaf.ts'
import { numberArgument, readJson } from '../cli/parse.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'

interface AnswerOptions extends PlaceOptions {
  readonly note?: string
}

/** `pawl answer <run> <question> <json>`: a person's answer to a question of an agent. JSON: the `Question`. */
export function addAnswer(parent: Command): void {
  addLeaf<AnswerOptions>(parent, {
    usage: 'answer <run> <question> <json>', about: 'answer a question of an agent; JSON, @file.json, or @- for stdin', options: (command) => addPlaceOptions(command.option('--note <text>', 'kept with the event')),
    async run({ args, options, out }) {
      const [runId = '', given = '', json = ''] = args
      const questionId = numberArgument(given, 'The question')
      const value = readJson(json, '<json>')
      const client = await openClient(options, out)
      try {
        const question = await client.answer(runId, questionId, value, { note: options.note })
        out.emit(questionToWire(question))
        out.line(`Question ${question.id} is answered; item ${question.itemSeq} of run ${runId} goes on with it.`)
      } finally {
        await client.close()
      }
    },
  })
}
