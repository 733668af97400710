/** What every `PawlClient` does, direct or over HTTP: one suite, and the agents it runs with. */
import { newId, PawlError } from '@pawl/core'
import { askQuestion, blockItem, claimItems, settleAction, type Ledger, requestApproval } from '@pawl/ledger'
import { defineTool, pinsOf } from '@pawl/tools'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { AgentContract } from './agents.ts'
import type { ItemSeed, PawlClient } from './contract.ts'

const pay = defineTool({
  name: 'pay', version: '1', description: 'pays', effect: 'non-idempotent', inputSchema: z.object({ to: z.string() }), outputSchema: z.object({ receipt: z.string() }),
  execute: async () => ({ receipt: 'r' }),
})

export const mailing: AgentContract<{ recipients: string[] }, { to: string }> & { tools: { pay: typeof pay } } = {
  name: 'mailing', version: '1', inputSchema: z.object({ recipients: z.array(z.string()) }), payloadSchema: z.object({ to: z.string() }), tools: { pay },
  split: (input: { recipients: string[] }) => input.recipients.map((to) => ({ key: to, payload: { to } })),
}
/** Takes any value and has no split. */
export const stock: AgentContract<unknown, unknown> & { tools: Record<string, never> } = {
  name: 'stock', version: '1', inputSchema: z.unknown(), payloadSchema: z.unknown(), tools: {},
}

export interface Opened {
  readonly client: PawlClient
  /** The same ledger, for bringing it into a state. */
  readonly ledger: Ledger
  readonly actor: string
}

const refused = async (call: Promise<unknown>): Promise<PawlError> => {
  try {
    await call
  } catch (error) {
    if (error instanceof PawlError) return error
    throw error
  }
  throw new Error('it was not refused')
}

const seeds = (n: number): ItemSeed[] => Array.from({ length: n }, (_, i) => ({ key: `item-${i}`, payload: { n: i } }))

export function describeClient(name: string, open: () => Promise<Opened>): void {
  describe(name, () => {
    let client: PawlClient
    let ledger: Ledger
    let actor: string
    beforeAll(async () => { ({ client, ledger, actor } = await open()) })

    const countRuns = async (): Promise<number> => (await ledger.query<{ n: number }>('select count(*)::integer as n from pawl.runs'))[0]?.n ?? -1
    const startOf = async (n: number): Promise<string> => (await client.startRun('stock', null, { items: seeds(n) })).id

    test('a run is pinned at its start to what its agent is made of, and repin moves it on purpose: refused to a version nobody has, told beforehand, kept as an event', async () => {
      const id = await startOf(2)
      expect(await client.getRun(id)).toMatchObject({ agentVersion: '1', modelVersion: null, promptVersion: null, schemaVersion: 1, lockDigest: pinsOf(stock).lockDigest })
      expect(await refused(client.repin(id, { to: '7' }))).toMatchObject({ code: 'UNKNOWN_VERSION' })
      expect(await refused(client.repin(id, { to: 'no version' }))).toMatchObject({ code: 'BAD_VERSION' })
      expect(await refused(client.repin(newId(), { to: '7' }))).toMatchObject({ code: 'NOT_FOUND' })
      expect(await client.repin(id, { to: '7', dryRun: true })).toMatchObject({ dryRun: true, isAllowed: false, workers: 0, live: 2, from: { version: '1' }, to: { version: '7' } })
      expect(await client.repin(id, { to: '1', dryRun: true })).toMatchObject({ isAllowed: true, isConfigured: true, unserved: [], changedTools: [] })
      expect(await client.repin(id, { to: '7', force: true, reason: 'moving house' })).toMatchObject({ dryRun: false, from: { version: '1' }, to: { version: '7', model: null }, moved: 2 })
      expect((await client.getRun(id)).agentVersion).toBe('7')
      expect((await client.listEvents(id)).find((event) => event.kind === 'run.repinned')).toMatchObject({ actor, data: { from: { version: '1' }, to: { version: '7' }, reason: 'moving house', moved: 2 } })
    })

    test('a run of an agent with a split begins with it, with its input kept', async () => {
      const { id, isNew } = await client.startRun(mailing, { recipients: ['a', 'b'] }, { labels: { team: 'red' } })
      const run = await client.getRun(id)
      // A producer serves splits itself: it may have begun, or be through.
      expect({ isNew, status: run.status, input: run.input, labels: run.labels, by: run.createdBy }).toEqual({
        isNew: true, status: expect.stringMatching(/^(splitting|running)$/) as string, input: { recipients: ['a', 'b'] }, labels: { team: 'red' }, by: actor,
      })
      expect((await client.listItems(id)).entries[0]).toMatchObject({ kind: 'split' })
    })

    test('items given with the request are there in order, with values JSON does not have', async () => {
      const payload = { at: new Date('2026-01-02T03:04:05Z'), big: 5_810_142_810_638_157_171n, bytes: new Uint8Array([0, 255]), text: 'a\u0000b', $encoded: 'mine' }
      const { id } = await client.startRun('stock', payload, { items: [{ key: 'z', payload }, { key: 'a', payload: null }, { key: '../x:1', payload: { $encoded: 'x' } }] })
      const { entries } = await client.listItems(id)
      expect(entries.map((item) => item.key)).toEqual(['z', 'a', '../x:1'])
      expect(entries.map((item) => item.payload)).toEqual([payload, null, { $encoded: 'x' }])
      expect((await client.getRun(id)).input).toEqual(payload)
    })

    test('inputs and payloads are typed by the agent', () => {
      // Never run: what must not compile.
      const wrong = (): unknown[] => [
        // @ts-expect-error recipients are text
        client.startRun(mailing, { recipients: [1] }),
        // @ts-expect-error a payload has a recipient
        client.startRun(mailing, { recipients: [] }, { items: [{ key: 'a', payload: { too: 'a' } }] }),
      ]
      expect(wrong).toBeTypeOf('function')
    })

    test('a run without items is a run', async () => {
      const { id } = await client.startRun('stock', 1, { items: [] })
      expect((await client.getRun(id)).tally.total).toBe(0)
    })

    test.each([['a uuid', newId()], ['255 characters', 'k'.repeat(255)], ['text beyond ASCII', 'clé-日本-🔑']])('20 parallel starts with one key, %s, are one run', async (_, idempotencyKey) => {
      const started = await Promise.all(Array.from({ length: 20 }, () => client.startRun('stock', { a: 1, b: 2 }, { items: seeds(30), idempotencyKey })))
      expect(new Set(started.map((run) => run.id)).size).toBe(1)
      expect(started.filter((run) => run.isNew)).toHaveLength(1)
      expect((await client.getRun(started[0]?.id ?? '')).tally.total).toBe(30)
    })

    test('the order of an input’s members does not make it another request', async () => {
      const first = await client.startRun('stock', { a: 1, b: 2 }, { items: [], idempotencyKey: 'order' })
      expect(await client.startRun('stock', { b: 2, a: 1 }, { items: [], idempotencyKey: 'order' })).toEqual({ id: first.id, isNew: false })
    })

    test('the same key with another request is refused and starts nothing', async () => {
      const { id } = await client.startRun('stock', 1, { items: seeds(2), idempotencyKey: 'conflict' })
      const before = await countRuns()
      const errors = await Promise.all([
        client.startRun('stock', 2, { items: seeds(2), idempotencyKey: 'conflict' }),
        client.startRun('stock', 1, { items: seeds(3), idempotencyKey: 'conflict' }),
        client.startRun('stock', 1, { items: seeds(2), idempotencyKey: 'conflict', labels: { a: 'b' } }),
        client.startRunFromStream({ agent: 'stock', input: 1 }, seeds(3), { idempotencyKey: 'conflict' }),
      ].map(refused))
      for (const error of errors) expect(error).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT', message: expect.stringContaining(id) as string })
      expect(await countRuns()).toBe(before)
    })

    test('a streamed request is the same request as a whole one', async () => {
      const whole = await client.startRun('stock', { x: 1 }, { items: seeds(5), idempotencyKey: 'whole-or-stream' })
      expect(await client.startRunFromStream({ agent: 'stock', input: { x: 1 } }, seeds(5), { idempotencyKey: 'whole-or-stream' })).toEqual({ id: whole.id, isNew: false })
    })

    const cyclic: Record<string, unknown> = {}
    cyclic['self'] = cyclic
    let deep: unknown = 1
    for (let i = 0; i < 600; i++) deep = [deep]
    test.each<[string, string, RegExp, () => Promise<unknown>]>([
      ['an unknown agent', 'UNKNOWN_AGENT', /"mialing".*"mailing", "stock"/s, () => client.startRun('mialing', {})],
      ['an unknown version', 'UNKNOWN_VERSION', /"9".*"1"/s, () => client.startRun('mailing', { recipients: [] }, { version: '9' })],
      ['an input of the wrong type', 'BAD_INPUT', /input\.recipients\.1.*string/, () => client.startRun('mailing', { recipients: ['a', 2] })],
      ['a payload of the wrong type', 'BAD_PAYLOAD', /Item 2 \("b"\): payload\.to.*string/, () => client.startRun('mailing', { recipients: [] }, { items: [{ key: 'a', payload: { to: 'a' } }, { key: 'b', payload: { to: 1 } }] })],
      ['no items for an agent without split', 'ITEMS_NEEDED', /pass items/, () => client.startRun('stock', 1)],
      ['the same item key twice', 'DUPLICATE_KEYS', /"item-1"/, () => client.startRun('stock', 1, { items: [...seeds(3), { key: 'item-1', payload: 0 }] })],
      ['an empty item key', 'BAD_ITEM_KEY', /Item 1/, () => client.startRun('stock', 1, { items: [{ key: '', payload: 0 }] })],
      ['an item key of 301 characters', 'BAD_ITEM_KEY', /301/, () => client.startRun('stock', 1, { items: [{ key: 'k'.repeat(301), payload: 0 }] })],
      ['an item key with NUL', 'BAD_ITEM_KEY', /Item 1/, () => client.startRun('stock', 1, { items: [{ key: 'a\u0000', payload: 0 }] })],
      ['an item key with a lone surrogate', 'BAD_ITEM_KEY', /Item 1/, () => client.startRun('stock', 1, { items: [{ key: '\ud800', payload: 0 }] })],
      ['a payload over its limit', 'TOO_LARGE', /"big".*1000000/, () => client.startRun('stock', 1, { items: [{ key: 'big', payload: 'x'.repeat(1_000_001) }] })],
      ['an input over its limit', 'TOO_LARGE', /input.*1000000/, () => client.startRun('stock', 'x'.repeat(1_000_001), { items: [] })],
      ['a value that contains itself', 'UNSTORABLE', /contains itself/, () => client.startRun('stock', cyclic, { items: [] })],
      ['a value that cannot be kept', 'UNSTORABLE', /function/, () => client.startRun('stock', { f: () => 1 }, { items: [] })],
      ['a value that nests too deep', '', /deeper than 500/, () => client.startRun('stock', deep, { items: [] })],
      ['an empty key', 'BAD_IDEMPOTENCY_KEY', /1 to 255/, () => client.startRun('stock', 1, { items: [], idempotencyKey: '' })],
      ['a key of 256 characters', 'BAD_IDEMPOTENCY_KEY', /1 to 255/, () => client.startRun('stock', 1, { items: [], idempotencyKey: 'k'.repeat(256) })],
      ['a policy that is none', '', /onFailure/, () => client.startRun('stock', 1, { items: [], policy: { onFailure: 'explode' as 'hold' } })],
      ['a label with NUL', 'BAD_LABELS', /labels/, () => client.startRun('stock', 1, { items: [], labels: { a: '\u0000' } })],
    ])('%s is refused with the way out and leaves nothing behind', async (_, code, sentence, start) => {
      const before = await countRuns()
      const error = await refused(start())
      expect(error.message).toMatch(sentence)
      if (code !== '') expect(error.code).toBe(code)
      expect(await countRuns()).toBe(before)
    })

    test('a stream of 2,500 items is there as a whole, in order', async () => {
      const { id, isNew } = await client.startRunFromStream({ agent: 'stock', input: 'in', labels: { big: 'yes' } }, seeds(2_500), { idempotencyKey: 'stream' })
      expect(isNew).toBe(true)
      const run = await client.getRun(id)
      expect({ total: run.tally.total, status: run.status, input: run.input }).toEqual({ total: 2_500, status: 'running', input: 'in' })
      const keys: string[] = []
      let cursor: string | undefined
      do {
        const page = await client.listItems(id, { limit: 700, cursor })
        keys.push(...page.entries.map((item) => item.key))
        cursor = page.cursor ?? undefined
      } while (cursor !== undefined)
      expect(keys).toEqual(seeds(2_500).map((seed) => seed.key))
      expect(await client.startRunFromStream({ agent: 'stock', input: 'in', labels: { big: 'yes' } }, seeds(2_500), { idempotencyKey: 'stream' })).toEqual({ id, isNew: false })
    })

    test.each<[string, string, RegExp, ItemSeed[]]>([
      ['a key it brought a thousand items before', 'DUPLICATE_KEYS', /"item-7"/, [...seeds(1_500), { key: 'item-7', payload: 1 }]],
      ['an item key that cannot be kept', 'BAD_ITEM_KEY', /1501|1502/, [...seeds(1_500), { key: 'x'.repeat(301), payload: 1 }]],
    ])('a stream with %s leaves nothing behind, its key included', async (_, code, sentence, items) => {
      const before = await countRuns()
      const error = await refused(client.startRunFromStream({ agent: 'stock' }, items, { idempotencyKey: 'bad-stream' }))
      expect(error.code).toBe(code)
      expect(error.message).toMatch(sentence)
      expect(await countRuns()).toBe(before)
      const { id } = await client.startRunFromStream({ agent: 'stock' }, seeds(3), { idempotencyKey: 'bad-stream' })
      expect((await client.getRun(id)).tally.total).toBe(3)
      await ledger.query(`delete from pawl.run_keys where key = 'bad-stream'`)
    })

    test('pages of runs neither repeat nor skip while new runs arrive', async () => {
      const labels = { paging: newId() }
      const ids: string[] = []
      for (let i = 0; i < 5; i++) ids.push((await client.startRun('stock', i, { items: seeds(1), labels })).id)
      const first = await client.listRuns({ labels, limit: 2 })
      await client.startRun('stock', 'new', { items: seeds(1), labels })
      const second = await client.listRuns({ labels, limit: 2, cursor: first.cursor ?? '' })
      const third = await client.listRuns({ labels, limit: 2, cursor: second.cursor ?? '' })
      expect([...first.entries, ...second.entries, ...third.entries].map((run) => run.id)).toEqual(ids.toReversed())
      expect(third.cursor).toBeNull()
      expect((await client.listRuns({ labels, agent: 'mailing' })).entries).toEqual([])
      expect((await client.listRuns({ labels, status: 'running' })).entries).toHaveLength(6)
    })

    test('a cursor or limit that is none is refused', async () => {
      expect((await refused(client.listRuns({ cursor: 'x' }))).code).toBe('BAD_CURSOR')
      expect((await refused(client.listRuns({ limit: 0 }))).message).toMatch(/limit/)
    })

    test('values over 64 kB are left out of lists and whole where one is asked for', async () => {
      const big = 'y'.repeat(100_000)
      const { id } = await client.startRun('stock', null, { items: [{ key: 'big', payload: big }] })
      const [listed] = (await client.listItems(id)).entries
      expect(listed?.payload).toEqual({ $pawl: 'omitted', bytes: 100_002 })
      expect((await client.getItem(id, listed?.seq ?? -1)).payload).toBe(big)
    })

    test('a brief is what a model is shown next: built from the ledger, within the tokens asked for', async () => {
      const { id } = await client.startRun('stock', { campaign: 'autumn' }, { items: seeds(2) })
      const [first, second] = (await client.listItems(id)).entries
      const seq = first?.seq ?? -1
      await ledger.query(`insert into pawl.turns (run_id, item_seq, n, epoch, model_version, prompt_version, decision) values ($1, $2, 1, 1, 'm', 'p', $3)`,
        [id, seq, JSON.stringify({ text: 'I write.', finishReason: 'tool-calls', calls: [{ name: 'sendMail', input: { to: 'ann' }, key: 'mail:ann' }, { name: 'sendMail', input: { to: 'bob' }, key: 'mail:bob' }] })])
      for (const [key, status, result] of [['mail:ann', 'committed', '{"id":"m-1"}'], ['mail:bob', 'started', null]] as const) {
        await ledger.query(`insert into pawl.actions (run_id, item_seq, turn, key, tool, tool_version, effect, status, epoch, args, args_digest, result, timeout_ms, settle_ms) values ($1, $2, 1, $3, 'mail.send', '1', 'idempotent', $4, 1, '{}', 'd', $5, 1, 1)`, [id, seq, key, status, result])
      }
      await ledger.query(`update pawl.items set status = 'failed', error = '{"name":"E","message":"no such address"}' where run_id = $1 and seq = $2`, [id, second?.seq ?? -1])
      const brief = await client.brief(id, seq)
      expect(brief).toMatchObject({ hasInstructions: false, budget: 30_000, isOver: false, turnsDigested: 0 })
      expect(brief.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'user'])
      expect(brief.messages[0]?.content).toContain('{"campaign":"autumn"}')
      expect(brief.messages[2]?.content).toMatchObject([{ toolCallId: 't1_1', output: { value: expect.stringMatching(/^\[done · key mail:ann\]\n{"id":"m-1"}/) as string } }, { toolCallId: 't1_2', output: { value: expect.stringMatching(/^\[outcome unknown.* key mail:bob\]$/) as string } }])
      expect(brief.messages[3]?.content).toContain('0 of 2 items done; 1 failed: no such address ×1')
      expect(await client.brief(id, seq, { tokens: 200 })).toMatchObject({ budget: 200, turnsDigested: 1 })
      expect((await refused(client.brief(id, seq, { tokens: 1 }))).code).toBe('BAD_TOKENS')
      expect((await refused(client.brief(id, 99))).code).toBe('NOT_FOUND')
      expect((await refused(client.brief(newId(), 1))).code).toBe('NOT_FOUND')
    })

    test('ids that name nothing get one and the same answer', async () => {
      for (const id of [newId(), 'nonsense', '../../etc', '%00']) {
        const errors = await Promise.all([client.getRun(id), client.listItems(id), client.getItem(id, 1), client.listActions(id), client.listEvents(id), client.pause(id), client.resume(id), client.cancel(id), client.compensate(id)].map(refused))
        expect(new Set(errors.map((error) => error.code))).toEqual(new Set(['NOT_FOUND']))
      }
      const id = await startOf(1)
      expect((await refused(client.getItem(id, 99))).code).toBe('NOT_FOUND')
      expect((await refused(client.settle(id, 99, { answer: 'abandon', attempt: 1, evidence: 0 }))).code).toBe('NOT_FOUND')
    })

    test('pause, resume and cancel change the run, name the actor, and are refused in the wrong state', async () => {
      const id = await startOf(2)
      expect(await client.pause(id)).toMatchObject({ dryRun: false, runId: id })
      expect((await client.getRun(id)).paused).toBe(true)
      expect(await client.resume(id)).toMatchObject({ dryRun: false, reopened: 0 })
      expect((await client.getRun(id)).paused).toBe(false)
      expect(await client.cancel(id, { reason: 'enough' })).toMatchObject({ status: 'cancelled', unsettled: 0 })
      expect(await refused(client.pause(id))).toMatchObject({ code: 'WRONG_STATE', message: expect.stringContaining('cancelled') as string, details: { state: 'cancelled' } })
      expect((await refused(client.cancel(id))).code).toBe('WRONG_STATE')
      const events = await client.listEvents(id)
      expect(events.map((event) => event.kind)).toEqual(['run.created', 'run.sealed', 'run.paused', 'run.resumed', 'run.ended'])
      expect(events.filter((event) => event.kind !== 'run.sealed').every((event) => event.actor === actor)).toBe(true)
      expect(await client.listEvents(id, { after: events[2]?.id ?? 0 })).toEqual(events.slice(3))
      expect(await client.resume(id)).toMatchObject({ reopened: 2, status: 'running' })
    })

    test('a budget is given with the start and changed later, member by member, by name; one that is none is refused', async () => {
      const { id } = await client.startRun('stock', 1, { items: [{ key: 'a', payload: { sku: 'a' } }], policy: { budget: { tokens: 1_000 } } })
      expect(await client.setBudget(id, { run: { turns: 9 }, item: { cost: 1.5 }, note: 'longer' })).toMatchObject({ dryRun: false, runId: id })
      expect((await client.getRun(id)).policy).toMatchObject({ budget: { tokens: 1_000, turns: 9 }, itemBudget: { cost: 1.5 } })
      expect((await client.listEvents(id)).at(-1)).toMatchObject({ kind: 'run.budget', actor, data: { budget: { turns: 9 }, itemBudget: { cost: 1.5 }, note: 'longer' } })
      for (const wrong of [{}, { run: {} }, { run: { tokens: 0 } }, { item: { token: 5 } as object }]) expect((await refused(client.setBudget(id, wrong))).message).toMatch(/budget|run|item/)
      expect((await refused(client.setBudget(newId(), { run: { turns: 1 } }))).code).toBe('NOT_FOUND')
    })

    test('a dry run says what would happen and changes nothing', async () => {
      const { runId, actionId, seq } = await doubtful(0)
      const before = [await client.getRun(runId), await client.listEvents(runId)]
      const [resume, cancel, compensate] = await Promise.all([client.resume(runId, { dryRun: true }), client.cancel(runId, { dryRun: true }), client.compensate(runId, { dryRun: true })])
      for (const preview of [resume, cancel, compensate]) {
        expect(preview).toMatchObject({ dryRun: true, isAllowed: true, asked: [{ action: actionId, itemSeq: seq, tool: 'pay' }], calledAgain: [], verified: [] })
      }
      expect(cancel).toMatchObject({ items: { stopped: 1, again: 0 } })
      expect([await client.getRun(runId), await client.listEvents(runId)]).toEqual(before)
    })

    /** An item whose one call is in doubt and may be denied after `waitMs`. */
    async function doubtful(waitMs: number): Promise<{ runId: string; actionId: number; seq: number }> {
      const { id: runId } = await client.startRun('mailing', { recipients: [] }, { items: [{ key: 'a', payload: { to: 'a' } }] })
      const seq = (await client.listItems(runId)).entries[0]?.seq ?? -1
      const [claim] = await claimItems(ledger, [{ runId, seq, generation: null }], { workerId: newId(), nonce: newId(), leaseMs: 60_000, alone: false })
      const by = { runId, seq, epoch: claim?.item?.epoch ?? -1 }
      await ledger.query(`insert into pawl.actions (run_id, item_seq, key, tool, tool_version, effect, status, epoch, token, args, args_digest, timeout_ms, settle_ms)
        values ($1, $2, 'pay-a', 'pay', '1', 'non-idempotent', 'started', $3, $4, '{"to":"a"}', 'd', 1000, 1000)`, [runId, seq, by.epoch, newId()])
      const action = await settleAction(ledger, by, 'pay-a', { verdict: 'in_doubt', by: 'worker', waitMs })
      expect(await blockItem(ledger, by, 'in_doubt', { action: action?.id })).toBe('blocked')
      return { runId, actionId: action?.id ?? -1, seq }
    }

    test('the inbox shows a doubt with what was sent; the answer frees its item and names who gave it', async () => {
      const { runId, actionId, seq } = await doubtful(0)
      const [entry] = (await client.inbox({ runId })).entries
      expect(entry).toMatchObject({ kind: 'in_doubt', runId, itemSeq: seq, itemKey: 'a', answers: ['happened', 'did_not', 'abandon'], action: { id: actionId, args: { to: 'a' }, key: 'pay-a', attempt: 1, evidence: [] } })
      expect((await client.getRun(runId)).blockedReasons).toEqual({ in_doubt: 1 })
      expect((await refused(client.settle(runId, actionId, { answer: 'happened', attempt: 1, evidence: 0 })))).toMatchObject({ code: 'BAD_RESULT' })
      expect((await refused(client.settle(runId, actionId, { answer: 'happened', result: { receipt: 'r' }, attempt: 2, evidence: 0 }))).code).toBe('DOUBT_CHANGED')
      expect((await refused(client.settle(runId, actionId, { answer: 'happened', result: { receipt: 'r' }, attempt: 1, evidence: 1 }))).code).toBe('DOUBT_CHANGED')
      const action = await client.settle(runId, actionId, { answer: 'happened', result: { receipt: 'r-1' }, attempt: 1, evidence: 0, note: 'saw it' })
      expect(action).toMatchObject({ status: 'committed', result: { receipt: 'r-1' }, settledBy: `person:${actor}` })
      expect((await client.getItem(runId, seq)).status).toBe('pending')
      expect((await refused(client.settle(runId, actionId, { answer: 'did_not', attempt: 1, evidence: 0 }))).code).toBe('DOUBT_CHANGED')
      expect((await client.listEvents(runId)).find((event) => event.kind === 'action.answered')).toMatchObject({ actor, itemSeq: seq, data: { answer: 'happened', note: 'saw it' } })
      expect((await client.inbox({ runId })).entries).toEqual([])
    })

    test('"it did not happen" is refused while a late send could still follow', async () => {
      const { runId, actionId } = await doubtful(60_000)
      expect((await client.inbox({ runId })).entries[0]).toMatchObject({ answers: ['happened'] })
      expect(await refused(client.settle(runId, actionId, { answer: 'did_not', attempt: 1, evidence: 0 }))).toMatchObject({ code: 'TOO_EARLY', details: { answerableAt: expect.any(String) as string } })
      expect((await client.settle(runId, actionId, { answer: 'happened', result: { receipt: 'r' }, attempt: 1, evidence: 0 })).status).toBe('committed')
    })

    test('a blocked item is shown with its verbs, resumed or failed, and refused when it is not blocked', async () => {
      const { id: runId } = await client.startRun('stock', null, { items: seeds(2) })
      const items = (await client.listItems(runId)).entries
      for (const { seq } of items) {
        const [claim] = await claimItems(ledger, [{ runId, seq, generation: null }], { workerId: newId(), nonce: newId(), leaseMs: 60_000, alone: false })
        await blockItem(ledger, { runId, seq, epoch: claim?.item?.epoch ?? -1 }, 'diverged', { tool: 'pay' })
      }
      const page = await client.inbox({ runId, limit: 1 })
      expect(page.entries).toMatchObject([{ kind: 'blocked', reason: 'diverged', verbs: ['resume', 'fail'], detail: { tool: 'pay' } }])
      expect((await client.inbox({ runId, limit: 1, cursor: page.cursor ?? '' })).entries).toHaveLength(1)
      const [first = -1, second = -1] = items.map((item) => item.seq)
      expect(await client.releaseItem(runId, first, 'resume', { newCalls: true })).toMatchObject({ seq: first, status: 'pending' })
      expect(await client.releaseItem(runId, second, 'fail', { note: 'no use' })).toMatchObject({ status: 'failed', error: { message: 'no use' } })
      expect(await refused(client.releaseItem(runId, second, 'resume'))).toMatchObject({ code: 'WRONG_STATE', message: expect.stringContaining('failed') as string })
    })

    /** An item that waits for a yes to each of these calls. */
    async function wanting(keys: readonly string[], policy?: { approval: { notByRequester: boolean } }): Promise<{ runId: string; seq: number; calls: { actionId: number; digest: string }[] }> {
      const { id: runId } = await client.startRun('stock', null, { items: seeds(1), policy })
      const seq = (await client.listItems(runId)).entries[0]?.seq ?? -1
      const [claim] = await claimItems(ledger, [{ runId, seq, generation: null }], { workerId: newId(), nonce: newId(), leaseMs: 60_000, alone: false })
      const by = { runId, seq, epoch: claim?.item?.epoch ?? -1 }
      const approvals: number[] = []
      for (const key of keys) {
        const call = { key, tool: 'pay', toolVersion: '2', effect: 'non-idempotent', args: '{"amount":5810142810638157171,"to":"ann"}', argsDigest: `args of ${key}`, undo: null, undoes: null, turn: null, timeoutMs: 1, settleMs: 1, keyWindowMs: null }
        approvals.push((await requestApproval(ledger, by, call, { digest: `shown ${key}`, irreversible: true, expiresMs: 60_000 })).approval?.id ?? -1)
      }
      expect(await blockItem(ledger, by, 'approval', { approvals })).toBe('blocked')
      const calls = (await client.inbox({ runId })).entries.flatMap((entry) => (entry.kind === 'approval' ? [{ actionId: entry.approval.actionId, digest: entry.approval.digest }] : []))
      return { runId, seq, calls }
    }

    test('the inbox shows a call that needs a yes to the letter; the yes frees its item and names who gave it', async () => {
      const { runId, seq, calls: [call] } = await wanting(['k'])
      expect((await client.inbox({ runId })).entries).toMatchObject([{ kind: 'approval', runId, itemSeq: seq, itemKey: 'item-0', attempts: 1, approval: {
        tool: 'pay', toolVersion: '2', key: 'k', digest: 'shown k', argsText: '{"amount":5810142810638157171,"to":"ann"}', irreversible: true, isStaged: false, sends: 0, status: 'open', expiresAt: expect.any(Date) as Date,
      } }])
      expect(await refused(client.approve(runId, { actionId: call!.actionId, digest: 'another' }))).toMatchObject({ code: 'APPROVAL_CHANGED' })
      expect(await client.approve(runId, call!, { note: 'fine' })).toMatchObject({ outcome: 'approved', status: 'approved', decidedBy: actor, decidedAt: expect.any(Date) as Date, note: 'fine' })
      expect((await client.getItem(runId, seq)).status).toBe('pending')
      expect((await client.inbox({ runId })).entries).toEqual([])
      expect((await client.listEvents(runId)).find((event) => event.kind === 'approval.approved')).toMatchObject({ actor, itemSeq: seq, data: { action: call!.actionId, note: 'fine' } })
    })

    test('a call is decided once: of 20 at the same time one decides, and every loser is told who was first and when (case 70)', async () => {
      const { runId, calls: [call] } = await wanting(['k'])
      const answers = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => (i % 2 ? client.reject(runId, call!) : client.approve(runId, call!))))
      expect(answers.filter((one) => one.status === 'fulfilled')).toHaveLength(1)
      for (const one of answers) if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'APPROVAL_DECIDED', details: { decidedBy: actor, decidedAt: expect.any(String) as string } })
    })

    test('many are decided at once, each as it was shown; one that came since, or was shown otherwise, is left alone', async () => {
      const { runId, calls } = await wanting(['a', 'b', 'c', 'since'])
      const [a, b, c] = calls
      expect((await client.decideApprovals(runId, { approve: [a!, a!], reject: [b!, { ...c!, digest: 'old' }], note: 'all read' })).map((one) => [one.actionId, one.outcome]))
        .toEqual([[a!.actionId, 'approved'], [b!.actionId, 'rejected'], [c!.actionId, 'changed']])
      expect((await client.inbox({ runId })).entries).toHaveLength(2)
      expect((await client.approve(runId, [c!])).map((one) => one.outcome)).toEqual(['approved'])
    })

    test('a yes and a no to one call, or no call at all, refuse the whole; an unknown one is named', async () => {
      const { runId, calls: [a, b] } = await wanting(['a', 'b'])
      expect(await refused(client.decideApprovals(runId, { approve: [a!, b!], reject: [a!] }))).toMatchObject({ code: 'BAD_DECISION' })
      expect(await refused(client.decideApprovals(runId, {}))).toMatchObject({ code: 'BAD_DECISION' })
      expect((await client.inbox({ runId })).entries).toHaveLength(2)
      expect(await refused(client.approve(runId, { actionId: 999_999, digest: 'x' }))).toMatchObject({ code: 'NOT_FOUND' })
    })

    test('where the policy wants another person, who started the run may say no only; a stopped run takes no answer', async () => {
      const { runId, calls: [a, b, c] } = await wanting(['a', 'b', 'c'], { approval: { notByRequester: true } })
      expect(await refused(client.approve(runId, a!))).toMatchObject({ code: 'APPROVER_IS_REQUESTER' })
      expect(await client.reject(runId, b!)).toMatchObject({ outcome: 'rejected' })
      await client.cancel(runId)
      expect(await refused(client.reject(runId, c!))).toMatchObject({ code: 'WRONG_STATE' })
    })

    /** An item that waits for the answer to one question. */
    async function asking(): Promise<{ runId: string; seq: number; questionId: number }> {
      const { id: runId } = await client.startRun('stock', null, { items: seeds(1) })
      const seq = (await client.listItems(runId)).entries[0]?.seq ?? -1
      const [claim] = await claimItems(ledger, [{ runId, seq, generation: null }], { workerId: newId(), nonce: newId(), leaseMs: 60_000, alone: false })
      const by = { runId, seq, epoch: claim?.item?.epoch ?? -1 }
      const schema = { type: 'object', properties: { amount: { type: 'integer', minimum: 1 } }, required: ['amount'], additionalProperties: false }
      const { question } = await askQuestion(ledger, by, { key: '1', text: 'How much?', answerSchema: JSON.stringify(schema) })
      const questionId = question?.id ?? -1
      expect(await blockItem(ledger, by, 'question', { question: questionId })).toBe('blocked')
      return { runId, seq, questionId }
    }

    test('the inbox shows a question with its JSON Schema; an answer that does not fit is refused by its member and not written; one that fits frees the item', async () => {
      const { runId, seq, questionId } = await asking()
      const { entries } = await client.inbox({ runId })
      expect(entries).toMatchObject([{ kind: 'question', runId, itemSeq: seq, itemKey: 'item-0', agent: 'stock', question: { id: questionId, question: 'How much?', status: 'open', answer: null, answerSchema: { type: 'object', required: ['amount'] } } }])
      for (const [value, path] of [[{ amount: 'ten' }, 'answer.amount'], [{ amount: 0 }, 'answer.amount'], [{ amount: 1, more: 1 }, 'answer'], ['ten', 'answer'], [undefined, 'answer']] as const) {
        expect(await refused(client.answer(runId, questionId, value))).toMatchObject({ code: 'BAD_ANSWER', message: expect.stringContaining(path) as string, details: { path } })
      }
      expect((await client.inbox({ runId })).entries).toEqual(entries)
      const answered = await client.answer(runId, questionId, { amount: 7 }, { note: 'asked Bob' })
      expect(answered).toMatchObject({ id: questionId, status: 'answered', answer: { amount: 7 }, answeredBy: actor, answeredAt: expect.any(Date) as Date })
      expect((await client.getItem(runId, seq)).status).toBe('pending')
      expect((await client.inbox({ runId })).entries).toEqual([])
      expect((await client.listEvents(runId)).find((event) => event.kind === 'question.answered')).toMatchObject({ actor, itemSeq: seq, data: { question: questionId, note: 'asked Bob' } })
    })

    test('a question is answered once: the loser is told who was first and when, whatever the answer looks like', async () => {
      const { runId, questionId } = await asking()
      const first = await client.answer(runId, questionId, { amount: 1 })
      for (const value of [{ amount: 2 }, 'nonsense']) {
        expect(await refused(client.answer(runId, questionId, value))).toMatchObject({ code: 'QUESTION_ANSWERED', details: { answeredBy: actor, answeredAt: first.answeredAt?.toISOString() }, message: expect.stringContaining(actor) as string })
      }
      expect(await client.answer(runId, questionId, { amount: 1 })).toEqual(first)
    })

    test('a question of a run that has ended takes no answer, and one that is not there is named as such', async () => {
      const { runId, questionId } = await asking()
      expect((await refused(client.answer(runId, 999_999, true))).code).toBe('NOT_FOUND')
      expect((await refused(client.answer(newId(), questionId, true))).code).toBe('NOT_FOUND')
      await client.cancel(runId)
      expect(await refused(client.answer(runId, questionId, { amount: 1 }))).toMatchObject({ code: 'WRONG_STATE', details: { state: 'void' } })
    })

    test('watch ends where only a person can go on, and where the run has ended', async () => {
      const { runId } = await doubtful(0)
      const seen = []
      for await (const progress of client.watch(runId, { everyMs: 20 })) seen.push(progress)
      expect(seen).toMatchObject([{ status: 'running', blocked: 1, total: 1, blockedReasons: { in_doubt: 1 } }])
      const live = await startOf(3)
      const statuses: string[] = []
      for await (const progress of client.watch(live, { everyMs: 20 })) {
        statuses.push(progress.status)
        if (progress.status === 'running') await client.cancel(live)
      }
      expect(statuses).toEqual(['running', 'cancelled'])
    })

    // The last one: it looks at what all the others wrote.
    test('whatever was written, and by whom, a jsonb column holds an object or a list, never a text (case 60)', async () => {
      const columns = await ledger.query<{ name: string; column: string }>(`select table_name as name, column_name as column from information_schema.columns where table_schema = 'pawl' and data_type = 'jsonb'`)
      expect(columns.length).toBeGreaterThan(3)
      for (const { name, column } of columns) {
        const types = (await ledger.query<{ type: string | null }>(`select distinct jsonb_typeof("${column}") as type from pawl."${name}"`)).map((row) => row.type)
        expect([name, column, types.filter((type) => type !== null && type !== 'object' && type !== 'array')]).toEqual([name, column, []])
      }
    })
  })
}
