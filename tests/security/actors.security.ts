/** Whoever acts is named in the run's events, and nobody can act in another's name. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, openSite, type Site } from './ground/site.ts'

let site: Site
beforeAll(async () => { site = await openSite() })
afterAll(() => site?.close())

const newRun = async (): Promise<string> => (await site.direct.startRun('plain', null, { items: [{ key: 'one', payload: null }] })).id
const eventsOf = async (runId: string) => await site.direct.listEvents(runId, { limit: 1_000 })
const actorsSince = async (runId: string, before: number) => (await eventsOf(runId)).filter(({ id }) => id > before).map(({ actor }) => actor)
const lastOf = async (runId: string): Promise<number> => (await eventsOf(runId)).at(-1)?.id ?? 0

describe('by token', () => {
  test('every verb on a run leaves an event with the token’s name', async () => {
    for (const [verb, body] of [['pause', {}], ['resume', {}], ['cancel', {}], ['compensate', {}], ['budget', { run: { turns: 3 } }]] as const) {
      const runId = await newRun()
      if (verb === 'resume') await site.direct.cancel(runId)
      const before = await lastOf(runId)
      expect([verb, (await ask(site, site.tokens.operate, 'POST', `/v1/runs/${runId}/${verb}`, body)).status]).toEqual([verb, 200])
      expect([verb, await actorsSince(runId, before)]).toEqual([verb, expect.arrayContaining(['operator'])])
    }
  })

  test('a name in the request is not the actor: not in a header, a body or a query', async () => {
    const runId = await newRun()
    for (const headers of [{ 'x-actor': 'mallory' }, { 'x-forwarded-user': 'mallory' }, { 'remote-user': 'mallory' }] as const) expect((await ask(site, site.tokens.all, 'POST', `/v1/runs/${runId}/pause`, {}, headers)).status).toBe(200)
    expect((await ask(site, site.tokens.all, 'POST', `/v1/runs/${runId}/cancel`, {}, { 'pawl-actor': 'mallory' })).status).toBe(403)
    expect((await ask(site, site.tokens.all, 'POST', `/v1/runs/${runId}/cancel`, { actor: 'mallory' })).status).toBe(400)
    await ask(site, site.tokens.all, 'POST', `/v1/runs/${runId}/cancel?actor=mallory`, {})
    expect(JSON.stringify(await eventsOf(runId))).not.toContain('mallory')
  })

  test('a name in Pawl-Actor is taken at its word only with the scope to delegate, and only where it is a name', async () => {
    const runId = await newRun()
    for (const actor of ['two words', 'x'.repeat(65), 'a:b', 'a\tb', '<b>', '../x', 'café']) expect([actor, (await ask(site, site.tokens.dashboard, 'POST', `/v1/runs/${runId}/cancel`, {}, { 'pawl-actor': actor })).status]).toEqual([actor, 400])
    for (const token of [site.tokens.read, site.tokens.run, site.tokens.operate, site.tokens.all]) expect((await ask(site, token, 'POST', `/v1/runs/${runId}/cancel`, {}, { 'pawl-actor': 'olga' })).status).toBe(403)
    const before = await lastOf(runId)
    expect((await ask(site, site.tokens.dashboard, 'POST', `/v1/runs/${runId}/cancel`, {}, { 'pawl-actor': 'olga' })).status).toBe(200)
    expect(await actorsSince(runId, before)).toEqual(expect.arrayContaining(['olga']))
  })
})

describe('by the dashboard, for a person', () => {
  test('a verb is recorded with the person’s name, whatever the browser says of names and tokens', async () => {
    const olga = await site.login('olga')
    const runId = await newRun()
    const before = await lastOf(runId)
    const headers = { 'x-pawl-csrf': await olga.csrf(), 'content-type': 'application/json', accept: 'application/json', 'pawl-actor': 'mallory', authorization: `Bearer ${site.tokens.foreign}` }
    expect((await olga.send('POST', `/api/v1/runs/${runId}/cancel`, { headers, body: '{"reason":"a mistake"}' })).status).toBe(200)
    expect(await actorsSince(runId, before)).toEqual(expect.arrayContaining(['olga']))
    expect(JSON.stringify(await eventsOf(runId))).not.toContain('mallory')
  })
})
