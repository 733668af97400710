/** What operators do: stop and resume runs, answer what a machine may not decide. */
import { actionSchema, actionToWire, approvalDecisionSchema, inboxSchema, inboxToWire, itemSchema, itemToWire, pageSchema, previewSchema, questionSchema, questionToWire, repinAnswerSchema, repinPreviewSchema, requestValues, verbAnswerSchema } from '@pawl/client'
import { z } from 'zod'
import type { Services } from '../app.ts'
import { addRoute, type App } from '../route.ts'
import { answerBody, budgetBody, decisionBody, decisionsBody, dryRunQuery, numberText, pageQuery, releaseBody, repinBody, runParams, settleBody, verbBody } from '../schemas.ts'

const summaries = {
  resume: 'Let a run go on; failed and cancelled items go round again. Nothing committed is repeated.',
  cancel: 'End a run now. Calls under way are settled after the fact.',
  compensate: 'Undo what a run did, newest first.',
} as const

export function addVerbRoutes(app: App, services: Services): void {
  addRoute(app, services, {
    method: 'post', path: '/v1/runs/{run}/pause', scope: 'operate', summary: 'Stop a run at its next call boundaries.', params: runParams, body: verbBody,
    answer: { description: 'Paused.', schema: verbAnswerSchema },
    handle: async ({ c, params, body, pawl }) => c.json(await pawl.pause(params.run, body)),
  })
  for (const verb of ['resume', 'cancel', 'compensate'] as const) {
    addRoute(app, services, {
      method: 'post', path: `/v1/runs/{run}/${verb}`, scope: 'operate', summary: `${summaries[verb]} With dryRun=true it only says what would happen.`,
      params: runParams, query: dryRunQuery, body: verbBody,
      answer: { description: 'What was done, or what would be.', schema: z.union([verbAnswerSchema, previewSchema]) },
      handle: async ({ c, params, query, body, pawl }) => c.json(await pawl[verb](params.run, { dryRun: query.dryRun === 'true', reason: body.reason })),
    })
  }
  addRoute(app, services, {
    method: 'post', path: '/v1/runs/{run}/budget', scope: 'operate', summary: 'Give a run, or each of its items, other limits for what models may spend. Items that wait for it go on.',
    params: runParams, body: budgetBody, answer: { description: 'Set.', schema: verbAnswerSchema },
    handle: async ({ c, params, body, pawl }) => c.json(await pawl.setBudget(params.run, body)),
  })
  addRoute(app, services, {
    method: 'post', path: '/v1/runs/{run}/repin', scope: 'operate', summary: 'Move a run to another agent version. With dryRun it only says what the new version would not recognise.',
    params: runParams, body: repinBody,
    answer: { description: 'What was moved, or what would be met.', schema: z.union([repinAnswerSchema, repinPreviewSchema]) },
    handle: async ({ c, params, body, pawl }) => c.json(await pawl.repin(params.run, body)),
  })
  addRoute(app, services, {
    method: 'get', path: '/v1/inbox', scope: 'read', summary: 'What waits for a person, with the answers it takes now.',
    query: z.strictObject({ ...pageQuery, runId: z.string().optional() }),
    answer: { description: 'A page of the inbox.', schema: pageSchema(inboxSchema) },
    handle: async ({ c, query, pawl }) => {
      const page = await pawl.inbox(query)
      return c.json({ ...page, entries: page.entries.map(inboxToWire) })
    },
  })
  addRoute(app, services, {
    method: 'post', path: '/v1/runs/{run}/actions/{action}/settle', scope: 'operate', summary: 'Say what became of an action in doubt.',
    params: runParams.extend({ action: numberText }), body: settleBody,
    answer: { description: 'The action as it is now.', schema: actionSchema },
    handle: async ({ c, params, body, pawl }) => c.json(actionToWire(await pawl.settle(params.run, params.action, { ...body, result: requestValues()(body.result) }))),
  })
  addRoute(app, services, {
    method: 'post', path: '/v1/runs/{run}/approvals', scope: 'operate', summary: 'Say yes or no to calls that wait for it, each exactly as it was shown. No other is touched.',
    params: runParams, body: decisionsBody,
    answer: { description: 'What became of each.', schema: z.object({ decisions: z.array(approvalDecisionSchema) }) },
    handle: async ({ c, params, body, pawl }) => c.json({ decisions: await pawl.decideApprovals(params.run, body) }),
  })
  for (const verb of ['approve', 'reject'] as const) {
    addRoute(app, services, {
      method: 'post', path: `/v1/runs/{run}/actions/{action}/${verb}`, scope: 'operate', summary: verb === 'approve' ? 'Say yes to one call, exactly as it was shown.' : 'Say no to one call: it is never sent, and the agent is told.',
      params: runParams.extend({ action: numberText }), body: decisionBody,
      answer: { description: 'The decision.', schema: approvalDecisionSchema },
      handle: async ({ c, params, body, pawl }) => c.json(await pawl[verb](params.run, { actionId: params.action, digest: body.digest }, { note: body.note })),
    })
  }
  addRoute(app, services, {
    method: 'post', path: '/v1/runs/{run}/questions/{question}/answer', scope: 'operate', summary: 'Answer a question of an agent. The inbox shows its JSON Schema.',
    params: runParams.extend({ question: numberText }), body: answerBody,
    answer: { description: 'The question with its answer.', schema: questionSchema },
    handle: async ({ c, params, body, pawl }) => c.json(questionToWire(await pawl.answer(params.run, params.question, requestValues()(body.answer), { note: body.note }))),
  })
  for (const verb of ['resume', 'fail'] as const) {
    addRoute(app, services, {
      method: 'post', path: `/v1/runs/{run}/items/{seq}/${verb}`, scope: 'operate', summary: verb === 'resume' ? 'Let one blocked item go on.' : 'End one blocked item as failed.',
      params: runParams.extend({ seq: numberText }), body: releaseBody,
      answer: { description: 'The item as it is now.', schema: itemSchema },
      handle: async ({ c, params, body, pawl }) => c.json(itemToWire(await pawl.releaseItem(params.run, params.seq, verb, body))),
    })
  }
}
