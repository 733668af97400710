import { actionToWire, type Action } from '@pawl/client'
import { encode } from '@pawl/core'
import type { Command } from 'commander'
import { addLeaf } from '../cli/leaf.ts'
import { numberArgument } from '../cli/parse.ts'
import { addPlaceOptions, openClient, type PlaceOptions } from '../cli/place.ts'
import { plain, time } from '../cli/plain.ts'
import type { Output } from '../cli/output.ts'
import { paintStatus } from '../cli/status.ts'

/** `pawl run action <run> <action>`: one call with all its values whole, which lists leave out or cut. JSON: the `Action`. */
export function addRunAction(parent: Command): void {
  addLeaf<PlaceOptions>(parent, {
    usage: 'action <run> <action>', about: 'one tool call, values whole', options: addPlaceOptions,
    async run({ args, options, out }) {
      const [runId = '', given = ''] = args
      const actionId = numberArgument(given, 'The action')
      const client = await openClient(options, out)
      try {
        const action = await client.getAction(runId, actionId)
        out.emit(actionToWire(action))
        show(out, action)
      } finally {
        await client.close()
      }
    },
  })
}

function show(out: Output, action: Action): void {
  out.line(`action ${action.id} of item ${action.itemSeq}  ${plain(action.tool)}@${plain(action.toolVersion)} (${action.effect})  ${paintStatus(action.status)}`)
  out.line(`  key       ${plain(action.key)}`)
  out.line(`  sent      ${time(action.startedAt)} UTC, attempt ${action.attempt}`)
  const values: readonly (readonly [string, unknown])[] = [['args', action.args], ['result', action.result], ['late', action.appliedEvidence], ...action.evidence.map((entry) => ['evidence', entry] as const), ['undo', action.undo]]
  for (const [name, value] of values) if (value !== null) out.line(`  ${name.padEnd(10)}${plain(encode(value, { what: name }))}`)
  if (action.error !== null) out.line(`  error     ${plain(action.error.message)}`)
}
